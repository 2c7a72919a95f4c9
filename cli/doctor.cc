#include "cli/doctor.h"

#include <fmt/format.h>

#include <filesystem>
#include "cli/program_config.h"
#include "core/check.h"
#include "learn_api/learn_library.h"

namespace forkpoint::cli {
namespace {

using learn_api::LearnLibrary;

// A warning works, but not as it should.
enum class Verdict { ok, warning, fault };

std::string_view to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::ok: return "ok";
    case Verdict::warning: return "WARN";
    case Verdict::fault: return "FAULT";
  }
  FORKPOINT_UNREACHABLE();
}

// What was found, in the order in which it was looked at.
class Findings {
 public:
  void add(const std::string& feature, Verdict verdict, const std::string& detail,
           const std::string& advice = {}) {
    features_[feature] = {{"ok", verdict != Verdict::fault}, {"detail", detail}};
    text_ += fmt::format("{:<6}{:<16}{}\n", to_string(verdict), feature, detail);
    all_ok_ = all_ok_ && verdict != Verdict::fault;
    if (advice.empty()) return;
    advice_.push_back(advice);
    text_ += fmt::format("{:<22}{}\n", "", advice);
  }

  Json json() const { return {{"version", FORKPOINT_VERSION}, {"features", features_}, {"advice", advice_}}; }
  const std::string& text() const { return text_; }
  bool all_ok() const { return all_ok_; }

 private:
  Json features_ = Json::object();
  Json advice_ = Json::array();
  std::string text_ = "forkpoint " FORKPOINT_VERSION "\n";
  bool all_ok_ = true;
};

void look_at_learner(const LearnLibrary& library, Findings& findings) {
  const auto info = library.info();
  const auto gflops = library.measure_sgemm_gflops();
  if (!info || !gflops) {
    findings.add("libtorch", Verdict::fault, (info ? gflops.failure : info.failure).message,
                 "reinstall LibTorch");
    return;
  }
  findings.add("libtorch", Verdict::ok,
               fmt::format("{}, {} threads, {} CUDA devices", info.value->torch_version, info.value->threads,
                           info.value->cuda_devices));
  const bool fast = *gflops.value >= LearnLibrary::kSgemmGflopsMin;
  findings.add("blas", fast ? Verdict::ok : Verdict::warning,
               fmt::format("{:.0f} GFLOP/s in float32 matrix products", *gflops.value),
               fast ? ""
                    : "install libopenblas0-pthread; if it is there, it may not know this processor: try "
                      "OPENBLAS_CORETYPE=SKYLAKEX (AVX-512) or HASWELL (AVX2)");
}

class Doctor final : public Verb {
 public:
  VerbHelp help() const override {
    return {.path = "doctor",
            .summary = "Check what of this installation works; exit code 1 if something does not",
            .example = "forkpoint doctor --json"};
  }

  void add_options(CLI::App& app) override { arguments_.add_to(app); }

  Result<int> run(Output& output) override {
    FORKPOINT_ASSIGN_OR_RETURN(const ProgramConfig config, arguments_.load());
    const std::filesystem::path path = config.learner.library.empty()
                                           ? LearnLibrary::default_path()
                                           : std::filesystem::path(config.learner.library);
    Findings findings;
    const auto library = LearnLibrary::open(path);
    findings.add("learn_library", library ? Verdict::ok : Verdict::fault,
                 library ? path.string() : library.failure.message, library ? "" : library.failure.advice);
    if (library) look_at_learner(*library.value, findings);
    output.print(findings.json(), findings.text());
    return findings.all_ok() ? 0 : 1;
  }

 private:
  ConfigArguments arguments_;
};

}  // namespace

std::unique_ptr<Verb> make_doctor() { return std::make_unique<Doctor>(); }

}  // namespace forkpoint::cli
