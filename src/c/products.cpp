// Multiplies matrices by instructions and by plans, and makes handles of plans.
#include "arguments.hpp"
#include "handles.hpp"
#include "io/json.hpp"
#include "io/printable.hpp"
#include "src/report/explain.hpp"
#include "src/report/gemm_report.hpp"
#include "tcnum/cublaslt.hpp"
#include "tcnum/gemm_error.hpp"
#include "tcnum/tcnum.hpp"

namespace tcnum {
namespace {

std::optional<MatrixView> view_or_none(const tcnum_view* view, std::string_view argument) {
  return view == nullptr ? std::nullopt : std::optional(view_of(view, argument));
}

Processor processor_of(const char* name) {
  const std::string_view text = name == nullptr ? "cpu" : name;
  if (text == "cpu") return Processor::cpu;
  if (text == "gpu") return Processor::gpu;
  throw InputError(fmt::format("options->processor: {} is unknown; expected cpu or gpu", in_quotes(text)));
}

/// Tells a callback how many rows of a product are finished. The callback may stop the product.
class Progress {
 public:
  Progress(int (*tell)(void*, std::size_t), void* user) : tell_(tell), user_(user) {}
  std::function<bool(std::size_t)> callback() {
    if (tell_ == nullptr) return {};
    return [this](std::size_t rows) { return !(stopped_ = tell_(user_, rows) != 0); };
  }
  bool stopped() const { return stopped_; }

 private:
  int (*tell_)(void*, std::size_t);
  void* user_;
  bool stopped_ = false;
};

/// The options of a product, checked.
class GemmArguments {
 public:
  explicit GemmArguments(const tcnum_gemm_options* options)
      : given_(options_of(options, "options")),
        c_(view_or_none(given_.c, "options->c")),
        bias_(view_or_none(given_.bias, "options->bias")),
        a_scales_(view_or_none(given_.a_scales, "options->a_scales")),
        b_scales_(view_or_none(given_.b_scales, "options->b_scales")),
        exact_a_(view_or_none(given_.exact_a, "options->exact_a")),
        exact_b_(view_or_none(given_.exact_b, "options->exact_b")),
        progress_(given_.progress, given_.user) {}

  GemmInputs inputs() const {
    GemmInputs inputs;
    if (c_) inputs.c = &*c_;
    if (bias_) inputs.bias = &*bias_;
    if (a_scales_) inputs.a_scales = &*a_scales_;
    if (b_scales_) inputs.b_scales = &*b_scales_;
    if (given_.alpha != nullptr) inputs.alpha = *given_.alpha;
    if (given_.beta != nullptr) inputs.beta = *given_.beta;
    return inputs;
  }
  ErrorReference reference() const {
    return {.exact_a = exact_a_ ? &*exact_a_ : nullptr, .exact_b = exact_b_ ? &*exact_b_ : nullptr};
  }
  /// Refuses exact operands, which tcnum_gemm_error() alone compares with.
  void require_no_reference() const {
    if (exact_a_ || exact_b_)
      throw InputError("options->exact_a and exact_b: are given; expected NULL, as tcnum_gemm_error() alone uses them");
  }
  GemmOptions options() {
    return {.threads = given_.threads, .processor = processor_of(given_.processor), .progress = progress_.callback()};
  }
  void throw_if_stopped() const {
    if (progress_.stopped()) throw Stopped();
  }

 private:
  tcnum_gemm_options given_;
  std::optional<MatrixView> c_, bias_, a_scales_, b_scales_, exact_a_, exact_b_;
  Progress progress_;
};

/// Names of the formats that the plan takes. They live as long as the library.
const std::vector<const char*>& operands_of(std::size_t plan) {
  static const std::vector<std::vector<const char*>> kNames = [] {
    std::vector<std::vector<const char*>> names;
    for (const NamedPlan& each : named_plans()) {
      names.emplace_back();
      for (const FormatId id : each.operands) names.back().push_back(c_name(id));
    }
    return names;
  }();
  return kNames[plan];
}

}  // namespace
}  // namespace tcnum

using namespace tcnum;

tcnum_status tcnum_matrix_view(const tcnum_matrix* matrix, tcnum_view* view) {
  return guarded([&] {
    const Matrix& of = required(matrix, "matrix", "a matrix").matrix;
    required(view, "view", kResultAddress) = {of.bytes().data(), of.bytes().size(),   of.rows(),
                                              of.columns(),      c_name(of.format()), TCNUM_ROW_MAJOR};
  });
}

void tcnum_matrix_free(tcnum_matrix* matrix) { delete matrix; }

tcnum_status tcnum_matmul(const tcnum_view* a, const tcnum_view* b, const tcnum_view* c,
                          const tcnum_matmul_options* options, tcnum_matrix** d) {
  return guarded([&] {
    tcnum_matrix*& result = result_of(d, "d");
    const MatrixView a_view = view_of(a, "a"), b_view = view_of(b, "b");
    const std::optional<MatrixView> c_view = view_or_none(c, "c");
    const auto given = options_of(&required(options, "options", "an architecture or a datapath"), "options");
    MatmulOptions by;
    by.arch = text_or_none(given.arch);
    by.instruction = text_or_none(given.instruction);
    by.account = text_or_none(given.account);
    if (given.datapath != nullptr) by.datapath = given.datapath->datapath;
    by.threads = given.threads;
    by.processor = processor_of(given.processor);
    by.a_scales = view_or_none(given.a_scales, "options->a_scales");
    by.b_scales = view_or_none(given.b_scales, "options->b_scales");
    Progress progress(given.progress, given.user);
    by.progress = progress.callback();
    result = new tcnum_matrix{c_view ? matmul(a_view, b_view, *c_view, by) : matmul(a_view, b_view, by)};
    if (progress.stopped()) throw Stopped();
  });
}

size_t tcnum_plan_count() { return named_plans().size(); }

tcnum_status tcnum_plan_at(size_t index, tcnum_plan_info* to) {
  return guarded([&] {
    const auto plans = named_plans();
    check_index(index, plans.size(), "the named plans");
    tcnum_plan_info info = {};
    info.name = plans[index].name.data();
    info.does = plans[index].does.data();
    info.source = plans[index].source.data();
    info.operands = operands_of(index).data();
    info.operand_count = operands_of(index).size();
    hand_back(info, to, "info");
  });
}

tcnum_status tcnum_plan_find(const char* name, const char* operands, const char* output, tcnum_plan** plan) {
  return handed_back(plan, "plan", [&] {
    const std::string_view text = text_of(name, "name", "the name of a plan");
    const FormatId id = format_of(operands, "operands").id;
    const auto output_id = output == nullptr ? std::nullopt : std::optional(format_of(output, "output").id);
    return new tcnum_plan{named_plan(text, id, output_id)};
  });
}

tcnum_status tcnum_plan_of_cublaslt(const tcnum_cublaslt_configuration* configuration, tcnum_plan** plan) {
  return handed_back(plan, "plan", [&] {
    const auto given =
        options_of(&required(configuration, "configuration", "the configuration of an algorithm"), "configuration");
    return new tcnum_plan{cublaslt_plan({.a = format_of(given.a, "configuration->a").id,
                                         .b = format_of(given.b, "configuration->b").id,
                                         .d = format_of(given.d, "configuration->d").id,
                                         .k = given.k,
                                         .fast_accumulation = given.fast_accumulation != 0,
                                         .id = given.id,
                                         .stages = given.stages,
                                         .split_k = given.split_k,
                                         .reduction = given.reduction,
                                         .custom = given.custom,
                                         .a_k_outermost = given.a_k_outermost != 0,
                                         .b_k_outermost = given.b_k_outermost != 0,
                                         .a_lead = given.a_lead,
                                         .b_lead = given.b_lead,
                                         .m = given.m,
                                         .n = given.n,
                                         .has_epilogue = given.has_epilogue != 0,
                                         .adds_to_d = given.adds_to_d != 0,
                                         .tile = given.tile,
                                         .cluster = given.cluster,
                                         .swizzle = given.swizzle,
                                         .workspace = given.workspace,
                                         .clusters_at_once = given.clusters_at_once})};
  });
}

tcnum_status tcnum_plan_from_json(const char* json, tcnum_plan** plan) {
  return handed_back(plan, "plan", [&] {
    return new tcnum_plan{plan_from_json(parse_json(text_of(json, "json", "a plan in JSON"), "plan"), "plan")};
  });
}

tcnum_status tcnum_plan_read(const char* path, tcnum_plan** plan) {
  return handed_back(plan, "plan", [&] {
    return new tcnum_plan{read_plan(std::string(text_of(path, "path", "the path of a plan")))};
  });
}

tcnum_status tcnum_plan_to_json(const tcnum_plan* plan, char** json) {
  return handed_back(json, "json",
                     [&] { return new_text(plan_to_json(required(plan, "plan", "a plan").plan).dump(2)); });
}

void tcnum_plan_free(tcnum_plan* plan) { delete plan; }

tcnum_status tcnum_gemm(const tcnum_plan* plan, const tcnum_view* a, const tcnum_view* b,
                        const tcnum_gemm_options* options, tcnum_matrix** d) {
  return guarded([&] {
    tcnum_matrix*& result = result_of(d, "d");
    const GemmPlan& by = required(plan, "plan", "a plan").plan;
    const MatrixView a_view = view_of(a, "a"), b_view = view_of(b, "b");
    GemmArguments given(options);
    given.require_no_reference();
    Matrix product(by.output, a_view.rows(), b_view.columns());
    gemm_into(product, by, a_view, b_view, given.inputs(), given.options());
    result = new tcnum_matrix{std::move(product)};
    given.throw_if_stopped();
  });
}

tcnum_status tcnum_explain_gemm(const tcnum_plan* plan, const tcnum_plan* other, const tcnum_view* a,
                                const tcnum_view* b, const tcnum_gemm_options* options, size_t row, size_t column,
                                char** text) {
  return handed_back(text, "text", [&] {
    const MatrixView a_view = view_of(a, "a"), b_view = view_of(b, "b");
    GemmArguments given(options);
    std::vector<ExplainedElement> elements;
    const auto add = [&](const GemmPlan& by, const char* name) {
      elements.push_back(
          {by.name.empty() ? name : by.name, trace_element(by, a_view, b_view, given.inputs(), row, column)});
    };
    add(required(plan, "plan", "a plan").plan, "plan");
    if (other != nullptr) add(other->plan, "other");
    return new_text(element_text(elements));
  });
}

tcnum_status tcnum_gemm_error(const tcnum_view* d, const tcnum_view* a, const tcnum_view* b,
                              const tcnum_gemm_options* options, char** json) {
  return handed_back(json, "json", [&] {
    const MatrixView d_view = view_of(d, "d"), a_view = view_of(a, "a"), b_view = view_of(b, "b");
    GemmArguments given(options);
    const GemmInputs inputs = given.inputs();
    const ErrorReport report = error_of(d_view, a_view, b_view, inputs, given.options(), given.reference());
    given.throw_if_stopped();
    const ComparedProduct compared{.m = a_view.rows(),
                                   .n = b_view.columns(),
                                   .k = a_view.columns(),
                                   .alpha = inputs.alpha,
                                   .beta = inputs.factor_of_c()};
    return new_text(gemm_error_document(report, compared).dump(2));
  });
}
