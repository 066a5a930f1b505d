// Describes the fields of a spec as options, in a table through which a spec is filled from names
// and values (of a command line, a TOML file, a grid) and read back.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "lab/spec/option.h"
#include "lab/spec/spec.h"

namespace isinglass {

template <class Spec>
struct Field {
  Option option;
  std::function<void(Spec&, const OptionValue&)> set;
  // Returns nothing if the spec does not give the option.
  std::function<std::optional<OptionValue>(const Spec&)> get;
};

template <class Spec>
using Fields = std::vector<Field<Spec>>;

// Parses "12x34". Throws Error, beginning with `what`, for other texts.
ImageSize image_size(const std::string& text, const std::string& what);

// These convert texts to and from members that are neither numbers, switches nor texts. read_text
// throws Error, naming the option, if the text cannot be read.
void read_text(const std::string& text, const std::string& option, ImageSize& size);
void read_text(const std::string& text, const std::string& option, AnnealSpec& anneal);
void read_text(const std::string& text, const std::string& option, Bounds& bounds);
void read_text(const std::string& text, const std::string& option, std::vector<NamedFile>& files);
void read_text(const std::string& text, const std::string& option, NamedFile& file);
std::string text_of(const ImageSize& size);
std::string text_of(const AnnealSpec& anneal);
std::string text_of(const Bounds& bounds);
std::string text_of(const std::vector<NamedFile>& files);
std::string text_of(const NamedFile& file);
void read_text(const std::string& text, const std::string& option, RateSchedule& schedule);
std::string text_of(RateSchedule schedule);

namespace fields {

template <class T>
struct MemberOf {
  using Value = T;
};
template <class T>
struct MemberOf<std::optional<T>> {
  using Value = T;
};

template <class T>
constexpr ValueType kTypeOf = std::is_same_v<T, bool>                    ? ValueType::kSwitch
                              : std::is_same_v<T, int64_t>               ? ValueType::kInteger
                              : std::is_same_v<T, double>                ? ValueType::kReal
                              : std::is_same_v<T, std::filesystem::path> ? ValueType::kPath
                                                                         : ValueType::kText;

template <class T>
std::optional<OptionValue> value_of(const T& member) {
  if constexpr (std::is_same_v<T, std::filesystem::path>) {
    return member.empty() ? std::nullopt : std::optional<OptionValue>(member.string());
  } else if constexpr (std::is_same_v<T, std::string>) {
    return member.empty() ? std::nullopt : std::optional<OptionValue>(member);
  } else if constexpr (std::is_arithmetic_v<T>) {
    return member;
  } else {
    const std::string text = text_of(member);
    return text.empty() ? std::nullopt : std::optional<OptionValue>(text);
  }
}

template <class T>
std::optional<OptionValue> value_of(const std::optional<T>& member) {
  return member ? value_of(*member) : std::nullopt;
}

template <class T>
T member_of(const OptionValue& value, const std::string& option) {
  if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
    return std::get<T>(value);
  } else if constexpr (std::is_same_v<T, std::filesystem::path>) {
    return std::get<std::string>(value);
  } else {
    T read{};
    read_text(std::get<std::string>(value), option, read);
    return read;
  }
}

}  // namespace fields

// Makes a field from a member. The option's type follows from the member's type, and its default
// from the member's initial value, if it has one.
template <class Spec, class T>
Field<Spec> field(T Spec::* member, Option option) {
  using Value = typename fields::MemberOf<T>::Value;
  option.type = fields::kTypeOf<Value>;
  if (!option.initial) option.initial = fields::value_of(Spec().*member);
  const std::string name = option.name;
  return {std::move(option),
          [member, name](Spec& spec, const OptionValue& value) {
            spec.*member = fields::member_of<Value>(value, name);
          },
          [member](const Spec& spec) { return fields::value_of(spec.*member); }};
}

// Makes the field of an option that is omitted where it has its default, which the help does not
// show as a value.
template <class Spec, class T>
Field<Spec> field_unless_default(T Spec::* member, Option option) {
  Field<Spec> all = field(member, std::move(option));
  all.option.initial.reset();
  all.get = [member](const Spec& spec) {
    return spec.*member == Spec().*member ? std::nullopt : fields::value_of(spec.*member);
  };
  return all;
}

// Returns the fields of a part as fields of the whole spec.
template <class Spec, class Part>
Fields<Spec> fields_in(Part Spec::* part, const Fields<Part>& of_part) {
  Fields<Spec> all;
  for (const Field<Part>& inner : of_part) {
    all.push_back(
        {inner.option,
         [part, set = inner.set](Spec& spec, const OptionValue& value) { set(spec.*part, value); },
         [part, get = inner.get](const Spec& spec) { return get(spec.*part); }});
  }
  return all;
}

template <class Spec, class Part>
Field<Spec> field_in(Part Spec::* part, Field<Part> of_part) {
  return std::move(fields_in(part, Fields<Part>{std::move(of_part)}).front());
}

template <class Spec>
void append(Fields<Spec>& all, Topic topic, Fields<Spec> more) {
  for (Field<Spec>& one : more) {
    one.option.topic = topic;
    all.push_back(std::move(one));
  }
}

// Returns the fields of a spec. There is one for every command that makes a run (tables in
// *_fields.cpp).
template <class Spec>
const Fields<Spec>& fields_of();
template <>
const Fields<SampleSpec>& fields_of();
template <>
const Fields<TrainSpec>& fields_of();
template <>
const Fields<EvaluateSpec>& fields_of();
template <>
const Fields<BenchSpec>& fields_of();
template <>
const Fields<EnergySpec>& fields_of();
template <>
const Fields<GridSpec>& fields_of();

template <class Spec>
OptionTable options_of() {
  OptionTable table;
  for (const Field<Spec>& one : fields_of<Spec>()) table.push_back(one.option);
  return table;
}

// Returns a spec with these values, which must be in range. Names that are not fields are ignored.
template <class Spec>
Spec spec_of(const OptionValues& values) {
  Spec spec;
  for (const Field<Spec>& one : fields_of<Spec>()) {
    const auto value = values.find(one.option.name);
    if (value == values.end()) continue;
    one.set(spec, value->second);
    if constexpr (requires { spec.given; }) spec.given.insert(one.option.name);
  }
  return spec;
}

// Returns the values of the spec, without those of options that do not apply to its objective.
template <class Spec>
OptionValues values_of(const Spec& spec) {
  OptionValues values;
  for (const Field<Spec>& one : fields_of<Spec>()) {
    if constexpr (requires { spec.objective; }) {
      if (!applies(one.option, spec.objective)) continue;
    }
    if (auto value = one.get(spec)) values.emplace(one.option.name, std::move(*value));
  }
  return values;
}

}  // namespace isinglass
