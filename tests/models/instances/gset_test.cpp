// The graphs of the G-set are the published ones, by the hashes of their files.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "io/error.h"
#include "io/sha256.h"
#include "models/instances/rudy.h"

namespace isinglass::gset_test {
namespace {

// The SHA-256 of each published file, whose lines u v weight are sorted by numbers and have single
// spaces and line feeds: "n m\n", then "u v weight\n" for the edges with u < v, from 1.
const std::map<int64_t, std::string> kPublished = {
    {1, "5df24ccf0a35ed6ed4b505e51527ea539df307e5dd5b53451460a79e658acd86"},
    {2, "3f8c07eea7037f5eba7f83e136e035a1097f6c1c1088fa4aa9696b8788db22d3"},
    {3, "585dbb6313d87efaa2d68c081b9106092860b879cfb17cb35923f07de7dfc245"},
    {4, "eb9aa66f9e999e81a4698dbf37c71bf3f14e71620d94898ac72c46d9948a5d21"},
    {5, "180e3eb10919e3a77af4f3a99464a1571f4246051255c6d348eb267bbb4f9012"},
    {6, "24b15b91195d9fb4ba358f3c44031123f2d20d9579c3aa21567234f485a02574"},
    {7, "e5d76c5fe62e9fb01bd4bbd81ed0133bf6f8739389c63783358f7ebb44392cc1"},
    {8, "61634cd6460980df99cd6a622656a986401ba437cfbc084e8c272e78acf05489"},
    {9, "d8875d4020f505aa63db56d5149ac2762a51bc3dcac1cf6673e929926eeeb871"},
    {10, "8fe55512e52d30c7145fe457f1703d8a6c3f35d3c87212c2a75ab65315053578"},
    {11, "5072bfcdbac70ec212e0f6a2d1757874954552f867abed46fc23e0571955dd2d"},
    {12, "f72ae556513e12d872d4384ee210a281d07b391d9428e57a0c293ba20e722c26"},
    {13, "26a331a13f30907514472bf1d201059c3c249b7a7017dba4f125f0bae3ebf4df"},
    {14, "a46a10d317d817c1f3e8ac7065cf0b408af44e16c86de172bd8af10a082ac8e2"},
    {15, "794bc1dc27e31220fb231b236ab5ee69fac6bb51ebd40130e712510b8c493eba"},
    {16, "1151cd15c0ca9bd75e6f63d6373c446834698ca18766adebea1396b874d9542d"},
    {17, "f68b5bb6ac10fb11e43107bc29867efa239c36f6c4b8cfd530fd6fc9eb769de9"},
    {18, "6cf9352852bd2bbad15ab440ad9ab81c6b7f95cc437dd5efb84a4aaa5d0d6e56"},
    {19, "bc0f7a3373ff34408b15d8e17cdea4d07c21bb9f56490ab19c518f57e1d39e02"},
    {20, "249fc81bc20f17e057d19f1d4c0270c18fbd64f5e1f2cc2dfbfc3bcc1571ee95"},
    {21, "370271ddd154a62b05fca7b7487702cb1bb9fdef568265c04131c6d95e8f4a99"},
    {22, "122c59f06097a004e43f2fdb78ee6d6204038093cc07f7991049f294a359d07d"},
    {23, "642ba06d01de253e05b011e25aaefcc51725bcde5646cabb79bff1202173a402"},
    {24, "b4fdfc4122104213c793a32b716a6348877e3c74a7f4fb49ab41413663e451c5"},
    {25, "f2eabe1041c839384e9586148933f0051590576198d98db50e3d7ce56c3f3448"},
    {26, "17216465b03c571c37d831a2be6c6871eae83047d3ec07c887364014a49f30ee"},
    {27, "c903987ae3e70fef15416bafbf0b0ef3481bcfef5a42db9d4d5226ef028108d5"},
    {28, "01962ad049e12b985e945e363748314bc26336adb83a5d14a5eea3d0e9e726ba"},
    {29, "a375589e1c38c2d06e76f0c4b6822c38f497db3957f43134106c201062c056a8"},
    {30, "f173fb3349a230f15e6b6f562e1f97bf1320db2d24e65af404c27712849691f1"},
    {31, "f5aa0eb3011c7c703439b187c1c1e0c394672ab555b2cc2ecc9a3e6187b98e22"},
    {32, "1d9af1769d226bc40bfcac266456a085629ab9086422fa41dc177efa05ea6be0"},
    {33, "24c38c429ee35b07bfbae3b5d0ee5b3602c1a2ed11b8acaffad4bda9b29a658b"},
    {34, "ac0d9f4b50a986029561b7b3a947fe7d0c065547843799299b15e50fee39bb02"},
    {35, "22f9fb89eb378273f6abf9ca750ab7bd4d18efe900770e7978dc610c84873754"},
    {36, "b2a40233509760ab08773e4d147ce12a29bd63eb185eeb212ad2de5d466ab93f"},
    {37, "9769afb60ba37e683e72836a76cb05601773dbfce84e1e92847cf789c29e07ea"},
    {38, "ad38e671d416379b65a59d232fdc21dea933c341de07c0deb8519b9489a8aae6"},
    {39, "02ff58f193ab289f6e8c8d4d8a419dfdde0bd07f1d211b4ae6561d43648ab918"},
    {40, "90db3076997fe666dbfd7d84b51b3b5375bdffbe44e61ce953260e9df65dba22"},
    {41, "7afee8fcf693aea41dff300d53d60e413a80087eeeaad2daa9391e6558af8f72"},
    {42, "ee31166a6e5f57826a890a74c27bd2305eed3e35830c5c5d982f6e6f88e9d2f5"},
    {43, "3597e3c22aa10906024f2d09b82510ac5ad16627fd2ea5e934298bead4dd2b5a"},
    {44, "d3251f9084365a6b7f9e5b8f582d2f5d4b3f3506ece9a198f96ffd773f1b6e29"},
    {45, "e287d7fe0eb68379fbc965834994e35fe6b10b6e3c3467a77e2d8c0e3769d126"},
    {46, "7cc6ecb2a6abd814ee0cdf1033875403066637bed233283cc586b59a8bd6e043"},
    {47, "59ba68f86f7854983e1a3933ddaa04de0ef6aa72a6f84bc23325fc3cbe65434f"},
    {48, "cde7c6805507fa3a6f25835ef5bb34a0588f8bf23d6831294aa703512f974a90"},
    {49, "d98ab4dd7074fc57a04b62489e149b78712e262f92cc186f5b8832f9ae7e7a09"},
    {50, "1c304ec3d7d806e920ed5f4833cf14bba8f321ffb71fe3f44171e7b3cd1bd5d6"},
    {51, "5daeece913872ec25bb46e434d31fbaf2523ad0e27cea4577c0aac783cf5ee8a"},
    {52, "789db1a005c92bac740d00922a52f8b64f57a27714420f58a974f2b3843df006"},
    {53, "59330e3e8b272212ce5c7562c59702bf6fceda14edc4ba7dc7d5a155d649d0a6"},
    {54, "a1d5238d4cda79fdb7be5dec8e4a7624814e96cff9d23772593fcccaac06780d"},
    {55, "b2a69373fac9f51da46e81edc773b04c04755aa1ff1254a0121ba6219c0860d4"},
    {56, "fbf301020dc47a9193377341a82e4bcfd0a1234bf6e912b08bed5b3794717dc3"},
    {57, "4cbe2fa6a247a710eaa62f14b31d5dac9660a9f7ec444e7417304204957373ca"},
    {58, "c84bbe5750049e193c6ce414230ef370959dc8675f915eef571722e6d1d5defd"},
    {59, "7912bda98ec12a4fdaff5e6870b28d33f16d4ecd34f8f36acb8ca041fed18a93"},
    {60, "9fa2152c146a1ff65a85a214d2a2e462f1569632be908053e0c99bd880147868"},
    {61, "d50de8dc40ad20c721f8bcf662a3670308906aaa42c18fcea541a6582fe29ee2"},
    {62, "5207cefb20a5511ab6f992c037d4fe920baebbd296b638caa5517156f6494ab2"},
    {63, "5991575f4709c8830fdeac986404f708917d0093337f83ee13e0552e99bf05b5"},
    {64, "7d4db0976382b29d2d3ad72bd3e72bc269acd55ab2cc9445f60fbaff1d7491a8"},
    {65, "8a87313f46aefc3b684bbf4e1ee05a14f45851a790b0b22216d8ed5b6e55a1df"},
    {66, "5549bd837216fdea0babb958a665b47201611bd15fcb1ec307eaa4892385eece"},
    {67, "0370180a894b188daa962f4fafb7969ae87765ccab1789ab5a46adfa9b252c5f"},
    {70, "e29268c10f6184df2f7d541d6e09efe4f07ec726f97c985b0334c6d6f342bcc2"},
    {72, "c9ead4bedab1ea92fbc375c3d682fe5fd6d7d0de7655c8f154f7a82a4caab341"},
    {77, "176bc6ff8f576fca12c106953ac83954708a269f8cdfe2e0cce58667252be2e8"},
    {81, "4b088e20c86a13dfcb41eb95e85bf25f8a1c4bd48ae686d3e7afe1ce0dc132c9"},
};

std::string text_of(const Graph& graph) {
  const int64_t count = graph.edges.size(0);
  std::string text = std::to_string(graph.vertices) + " " + std::to_string(count) + "\n";
  const int64_t* end = graph.edges.data_ptr<int64_t>();
  const double* weight = graph.weight.data_ptr<double>();
  for (int64_t e = 0; e < count; ++e) {
    text += std::to_string(end[2 * e] + 1) + " " + std::to_string(end[2 * e + 1] + 1) + " " +
            std::to_string(static_cast<int64_t>(weight[e])) + "\n";
  }
  return text;
}

TEST(Gset, GraphsAreThePublishedFiles) {
  for (int64_t number = 1; number <= 81; ++number) {
    const auto published = kPublished.find(number);
    if (published == kPublished.end()) {
      EXPECT_THROW(gset_graph(number), Error) << number;
    } else {
      EXPECT_EQ(sha256(text_of(gset_graph(number))), published->second) << "G" << number;
    }
  }
}

// These are the two numbers by which GB_FLIP tests itself.
TEST(Gset, RandomNumbersAreThoseOfTheStanfordGraphBase) {
  FlipStream draws(-314159);
  EXPECT_EQ(draws.next(), 119318998);
  for (int i = 0; i < 133; ++i) draws.next();
  EXPECT_EQ(draws.below(0x55555555), 748103812);
}

// All sides of a small torus, by enumeration.
TEST(Gset, ToriWithoutSignsKnowTheirLargestCut) {
  for (const auto& [rows, columns] :
       std::vector<std::pair<int64_t, int64_t>>{{3, 3}, {3, 4}, {4, 3}, {3, 5}, {4, 4}}) {
    const std::vector<RudyGraph::Edge> edges = rudy_torus(rows, columns).edges;
    int64_t largest = 0;
    for (uint32_t side = 0; side < 1u << (rows * columns); ++side) {
      const auto cut = std::count_if(edges.begin(), edges.end(), [&](const RudyGraph::Edge& edge) {
        return ((side >> edge.u ^ side >> edge.v) & 1) != 0;
      });
      largest = std::max<int64_t>(largest, cut);
    }
    EXPECT_EQ(torus_cut(rows, columns), largest) << rows << " × " << columns;
  }
  EXPECT_EQ(gset_graph(48).optimum, 6000);
  EXPECT_EQ(gset_graph(49).optimum, 6000);
  EXPECT_EQ(gset_graph(50).optimum, 5880);
  EXPECT_FALSE(gset_graph(11).optimum);
  EXPECT_FALSE(gset_graph(1).optimum);
}

}  // namespace
}  // namespace isinglass::gset_test
