// Writes the section of a page for pictures whose missing pixels were sampled, from inpainted.png.
#include "io/files.h"
#include "lab/page/page.h"

namespace isinglass::report {
namespace {

void add_inpainting(Page& page, const std::filesystem::path& directory) {
  page.add(
      "Inpainting",
      "Each row has an image, what is known of it (grey is missing), some draws of the missing "
      "pixels, and the mean of all draws.",
      {pictures("", Json::array({picture("", read_file(directory / "inpainted.png"))}))});
}

}  // namespace

std::vector<Section> inpainting_sections() {
  return {{"inpainted.png", add_inpainting}};
}

}  // namespace isinglass::report
