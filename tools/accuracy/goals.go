package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"sync"
)

// goal is one line of the table of goals.
type goal struct {
	what   string
	memory bool
	slack  bool // of memory that the allocator's slack is a part of
	judge  bool // of rows that no fit sees
	in     func(*result) bool

	median, leaving   float64 // per cent; leaving: with the model left out of the fit
	p90, most, signed float64 // 0: no such goal

	ceiling float64 // what the median has reached and may not exceed again
	tail    float64 // the same of the 90th percentile; 0: not held

	unseen, unseenTail float64 // the same with the source left out of the fit; 0: not held
	aim, aimTail       float64 // goals of these; 0: no such goal
}

// goals are what the predictions are to reach, by source.
var goals = []goal{
	{what: "memory, SimuMax B200, allocated", memory: true, in: source("simumax_b200"), median: 1, leaving: 2, most: 3, ceiling: 0.3},
	{what: "memory, BigScience A100, nvidia-smi", memory: true, slack: true, in: source("bigscience_bloom"), median: 6, leaving: 8, ceiling: 4.2},
	{what: "memory, TorchTitan H100 and H200, reserved", memory: true, slack: true, in: source("torchtitan"), median: 6, most: 12, ceiling: 2.2},
	{what: "memory, Megatron's tests, hidden size from 2048", memory: true, in: both(source("megatron_lm_ci_golden"), wide), median: 5, ceiling: 2.5},
	{what: "step time, SC21, pipeline and tensor parallel", in: both(source("megatron_sc21"), not(zero3)), median: 4, leaving: 6, ceiling: 3.5, unseen: 4.4},
	{what: "step time, SC21, ZeRO-3", in: both(source("megatron_sc21"), zero3), ceiling: 14},
	{what: "step time, SimuMax B200", in: source("simumax_b200"), median: 3, leaving: 5, signed: 1.5, ceiling: 1, unseen: 1.1},
	{what: "step time, Megatron-Bridge, dense", in: both(source("megatron_bridge_perf_summary"), dense), median: 7, leaving: 10, ceiling: 2.2, unseen: 2},
	{what: "step time, Megatron-Bridge, mixtures of experts", in: both(source("megatron_bridge_perf_summary"), not(dense)), median: 10, leaving: 14, ceiling: 4.9, unseen: 6},
	{what: "step time, DGXC", in: source("nvidia_dgxc_benchmarking"), median: 7, leaving: 10, ceiling: 1.4, unseen: 2.1},
	{what: "step time, MosaicML FSDP, A100", in: both(source("mosaicml_llm_foundry"), gpu("a100")), median: 2.5, leaving: 4, ceiling: 1.9, unseen: 3.7},
	{what: "step time, MosaicML FSDP, H100", in: both(source("mosaicml_llm_foundry"), gpu("h100")), median: 5, leaving: 7, ceiling: 1.8, unseen: 3.3},
	{what: "step time, BigScience", in: source("bigscience_bloom"), median: 7, leaving: 10, ceiling: 3.4, unseen: 3.8},
	{what: "step time, TorchTitan", in: source("torchtitan"), median: 7, leaving: 10, ceiling: 2, unseen: 2.6},
	{what: "step time, MLPerf, in no fit", judge: true, in: source("mlperf"), median: 6, p90: 18, ceiling: 6.4, tail: 13.7},
	{what: "step time, DGXC of later releases, in no fit", judge: true, in: source("nvidia_dgxc_later"), median: 5, p90: 15, ceiling: 2.8, tail: 8.1},
	{what: "step time, MoE ModelZoo, in no fit", judge: true, in: source("megatron_moe_modelzoo"), median: 10, p90: 30, ceiling: 9.5, tail: 28.9},
	{what: "step time, MoE Parallel Folding, in no fit, what is open as chosen", judge: true, in: source("moe_parallel_folding"), median: 10, p90: 30, ceiling: 3.5, tail: 9.6},
	{what: "step time, grids on A100, in no fit", judge: true, in: source("hagemann2023_layouts"), median: 6, p90: 18, ceiling: 4.2, tail: 15.6},
	{what: "step time, large machines, in no fit, what is open as chosen", judge: true, in: source("large_machines"), median: 10, p90: 20, ceiling: 9.4, tail: 15.5},
	{what: "step time, FlagPerf, in no fit", judge: true, in: source("flagperf"), median: 5, p90: 15, ceiling: 3.8, tail: 7.5},
	{what: "step time, XTuner's H800, in no fit", judge: true, in: source("xtuner_h800"), median: 10, p90: 30, ceiling: 14, tail: 17.3},
	{what: "step time, Megatron-LM's MoE recipes, in no fit", judge: true, in: source("megatron_moe_recipes"), median: 10, p90: 30, ceiling: 6.7, tail: 21.5},
	{what: "step time, FSDP on slow networks, in no fit", judge: true, in: source("fms_fsdp"), median: 10, p90: 20, ceiling: 5.2, tail: 8.4},
	{what: "step time, long sequences, in no fit", judge: true, in: source("nemo_long_sequences"), median: 10, p90: 30, ceiling: 7.9, tail: 23.5},
	{what: "step time, NeMo's tables, in no fit", judge: true, in: source("nemo_performance"), median: 10, p90: 30, ceiling: 6.9, tail: 15},
	{what: "step time, GPT-3 of NeMo on A100, in no fit", judge: true, in: source("nemo_megatron_a100"), median: 6, p90: 18, ceiling: 5.6, tail: 12},
	{what: "step time, V100, in no fit", judge: true, in: source("bigscience_v100"), median: 10, p90: 30, ceiling: 4.4, tail: 26},
	{what: "step time, large vocabularies in pipelines, in no fit", judge: true, in: source("vocabulary_parallelism"), median: 10, p90: 20, ceiling: 9.5, tail: 14.6},
	{what: "step time, 1F1B plain and interleaved, in no fit", judge: true, in: source("zero_bubble"), median: 10, p90: 20, ceiling: 7.5, tail: 11.3},
	{what: "memory, 1F1B plain and interleaved, in no fit", memory: true, judge: true, in: source("zero_bubble"), median: 6, most: 12, ceiling: 2.9},
	{what: "step time, TorchTitan's logs, in no fit", judge: true, in: source("torchtitan_commits"), median: 10, p90: 30, ceiling: 13.2, tail: 29.7},
	{what: "step time, torchao's table, in no fit", judge: true, in: source("torchao"), median: 10, p90: 30, ceiling: 14.2, tail: 22.8},
	{what: "step time, TorchTitan on A100, in no fit", judge: true, in: source("torchtitan_a100"), median: 10, p90: 30, ceiling: 7.4, tail: 11},
	{what: "step time, long sequences by DeepSpeed, in no fit", judge: true, in: source("alst"), median: 10, p90: 30, ceiling: 22, tail: 42},
	{what: "step time, Google's logs on B200, in no fit", judge: true, in: source("google_a4_logs"), median: 10, p90: 20, ceiling: 16, tail: 18.3},
	{what: "step time, Google's recipes, in no fit", judge: true, in: source("google_readmes"), median: 10, p90: 20, ceiling: 11.4, tail: 17.2},
	{what: "step time, mixtures over EFA, in no fit", judge: true, in: source("aws_efa_alltoall"), median: 10, p90: 30, ceiling: 16.2, tail: 44.5},
	{what: "step time, a mixture over EFA by UCCL, in no fit", judge: true, in: source("uccl_p5en"), median: 10, p90: 30, ceiling: 8.9, tail: 8.9},
	{what: "step time, GH200, in no fit", judge: true, in: source("swiss_gh200"), median: 10, p90: 30, ceiling: 7.8, tail: 39},
	{what: "step time, InternLM, in no fit", judge: true, in: source("internlm"), median: 10, p90: 30, ceiling: 13, tail: 23.2},
	{what: "step time, Megatron-Bridge's cards, in no fit", judge: true, in: source("mbridge_cards"), median: 10, p90: 30, ceiling: 5.5, tail: 13.2},
	{what: "step time, Megatron-Bridge's studies, in no fit", judge: true, in: source("mbridge_studies"), median: 10, p90: 30, ceiling: 10, tail: 44.5},
	{what: "step time, DeepSeek-V3 on GB200 by steps, in no fit", judge: true, in: source("dsv3_gb200_guide"), median: 10, p90: 30, ceiling: 22, tail: 42.3},
	{what: "step time, one H200, in no fit", judge: true, in: source("gpu_h200_driver580_159_04_torch2_11_0"), median: 10, p90: 20, ceiling: 5.9, tail: 17.3},
	{what: "step time, all mixtures of experts", in: not(dense), ceiling: 3.8, unseen: 5.2, unseenTail: 16.8, aim: 10, aimTail: 30},
	{what: "step time, everything", in: func(*result) bool { return true }, median: 5, p90: 14, signed: 2, ceiling: 2.4, tail: 9.8, unseen: 3, unseenTail: 11.1, aim: 5, aimTail: 15},
}

// The goals that are counts.
const (
	ranWhat    = "runs that ran, called feasible"
	oomWhat    = "runs out of memory, called infeasible"
	orderWhat  = "order: pairs of one model, batch, precision and GPU count, more than 5 % apart"
	regretWhat = "regret of the preferred layout"
	pairsWhat  = "differences of memory between layouts of one model (Megatron-Bridge)"
)

func source(name string) func(*result) bool { return func(r *result) bool { return r.Source == name } }
func gpu(family string) func(*result) bool {
	return func(r *result) bool { return strings.HasPrefix(r.example.job.Cluster.GPU.Catalog, family) }
}
func wide(r *result) bool  { return r.example.row.Model.Hidden >= 2048 }
func dense(r *result) bool { return r.example.job.Model.MoE == nil }
func zero3(r *result) bool { return r.example.layout.ZeroStage == 3 }
func not(f func(*result) bool) func(*result) bool {
	return func(r *result) bool { return !f(r) }
}
func both(f, g func(*result) bool) func(*result) bool {
	return func(r *result) bool { return f(r) && g(r) }
}

// errorsOf are the relative errors of the goal's rows: with the embedded
// parameters, and with those fitted without the row's source or its model. Rows that no
// fit sees have no part in the parameters; without their source stands what they are
// expected to take.
func (g *goal) errorsOf(results []result, c *crossValidation) (fit, source, model []float64) {
	for i := range results {
		r := &results[i]
		if r.example.skip != "" || r.apart || r.judge != g.judge || !g.in(r) {
			continue
		}
		if m := r.Memory; g.memory && m != nil {
			fit = append(fit, m.PredictedBytes/m.MeasuredBytes-1)
			if slack, ok := slackOfOthers(results, r); ok {
				model = append(model, m.PredictedBytes*slack/m.MeasuredBytes-1)
			}
		}
		if g.memory || r.Time == nil {
			continue
		}
		fit = append(fit, r.Time.PredictedSeconds/r.Time.MeasuredSeconds-1)
		if v, ok := c.source[r.ID]; ok {
			source = append(source, v-1)
		} else if r.expected > 0 {
			source = append(source, r.expected/r.Time.MeasuredSeconds-1)
		}
		if v, ok := c.model[r.ID]; ok {
			model = append(model, v-1)
		}
	}
	return fit, source, model
}

// slackOfOthers is what the rows of other models on the same framework make of
// the one share that was fitted for reserved and device memory, the
// allocator's slack: their median of measured over predicted.
func slackOfOthers(results []result, of *result) (factor float64, ok bool) {
	if of.Memory.Definition == "allocated" {
		return 1, false
	}
	ratios := ratiosOfOthers(results, of)
	if len(ratios) == 0 {
		return 1, false
	}
	return quantile(ratios, 0.5), true
}

// ratiosOfOthers is measured over predicted memory, in order, of the other
// models' rows on the same framework.
func ratiosOfOthers(results []result, of *result) []float64 {
	var ratios []float64
	for i := range results {
		r := &results[i]
		if m := r.Memory; m != nil && m.Definition == of.Memory.Definition && r.example.framework == of.example.framework &&
			architecture(r.example) != architecture(of.example) {
			ratios = append(ratios, m.MeasuredBytes/m.PredictedBytes)
		}
	}
	slices.Sort(ratios)
	return ratios
}

// printGoals compares goals and figures.
func printGoals(w io.Writer, results []result, c *crossValidation) {
	fmt.Fprintln(w, "| what | n | goal | reached | leaving its source out | goal leaving its model out | reached | |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|---|")
	var missed []string
	for i := range goals {
		g := &goals[i]
		fit, bySource, byModel := g.errorsOf(results, c)
		if len(fit) == 0 {
			continue
		}
		s := summarise(fit)
		without, left := "", ""
		met := g.met(&s)
		if len(bySource) > 0 {
			without = figures(bySource)
			left := summarise(bySource)
			met = met && (g.aim == 0 || left.median <= g.aim) && (g.aimTail == 0 || left.p90 <= g.aimTail)
		}
		if g.judge && without != "" {
			without = "as expected: " + without
		}
		if g.aim > 0 {
			without = fmt.Sprintf("goal %g and %g %%: %s", g.aim, g.aimTail, without)
		}
		if len(byModel) > 0 {
			left = figures(byModel)
			met = met && (g.leaving == 0 || summarise(byModel).median <= g.leaving)
		}
		if g.memory && len(byModel) == 0 {
			left = "as reached: nothing was fitted"
			if g.slack {
				left = "no other model to set the slack by"
			}
		}
		verdict := "met"
		switch {
		case g.median == 0 && g.aim == 0:
			verdict = "apart"
		case !met:
			verdict = "**missed**"
			missed = append(missed, g.what)
			if g.judge && len(bySource) > 0 && g.expected(bySource) {
				verdict += ", met as expected"
			}
		}
		fmt.Fprintf(w, "| %s | %d | %s | %s | %s | %s | %s | %s |\n", g.what, s.n, g.wanted(), figures(fit), without, percentGoal(g.leaving), left, verdict)
	}
	missed = append(missed, printCounts(w, results)...)
	fmt.Fprintln(w)
	for _, what := range missed {
		fmt.Fprintf(w, "- **%s:** %s\n", what, knownOf(what))
	}
}

// remark says what is known of a goal that is missed.
type remark struct {
	Goal  string `json:"goal"`
	Known string `json:"known"`
}

// remarks reads them once.
var remarks = sync.OnceValue(func() []remark { return embedded[remark]("misses.json") })

// knownOf is the remark on a goal.
func knownOf(goal string) string {
	for _, m := range remarks() {
		if m.Goal == goal {
			return m.Known
		}
	}
	return "not understood"
}

// met compares a summary with the goal.
func (g *goal) met(s *summary) bool {
	below := func(v, most float64) bool { return most == 0 || v <= most }
	return below(s.median, g.median) && below(s.p90, g.p90) && below(s.max, g.most) && below(math.Abs(s.bias), g.signed)
}

// expected reports whether what steps are expected to take meets the goal.
func (g *goal) expected(errors []float64) bool {
	s := summarise(errors)
	return g.met(&s)
}

// wanted writes the goal.
func (g *goal) wanted() string {
	var parts []string
	for _, p := range []struct {
		name string
		v    float64
	}{{"median ≤ ", g.median}, {"p90 ≤ ", g.p90}, {"max ≤ ", g.most}, {"bias within ±", g.signed}} {
		if p.v > 0 {
			parts = append(parts, fmt.Sprintf("%s%g %%", p.name, p.v))
		}
	}
	return strings.Join(parts, ", ")
}

func percentGoal(v float64) string {
	if v == 0 {
		return ""
	}
	return fmt.Sprintf("median ≤ %g %%", v)
}

// figures writes the errors in short.
func figures(errors []float64) string {
	s := summarise(errors)
	return fmt.Sprintf("median %.1f %%, p90 %.1f %%, max %.0f %%, bias %+.1f %%", s.median, s.p90, s.max, s.bias)
}

// printCounts adds the goals that are counts: verdicts, order, regret, and
// differences of memory. It returns what is missed.
func printCounts(w io.Writer, results []result) (missed []string) {
	line := func(what string, n int, wanted, reached string, met bool) {
		verdict := "met"
		if !met {
			verdict = "**missed**"
			missed = append(missed, what)
		}
		fmt.Fprintf(w, "| %s | %d | %s | %s | | | | %s |\n", what, n, wanted, reached, verdict)
	}
	ran, fits, out, caught := verdictCounts(results)
	line(ranWhat, ran, "≥ 98 %", fmt.Sprintf("%.1f %%", 100*float64(fits)/float64(max(1, ran))), float64(fits) >= 0.98*float64(ran))
	line(oomWhat, out, "all", fmt.Sprint(caught), caught == out)
	o := order(results)
	line(orderWhat, o.pairs, "≥ 90 %",
		fmt.Sprintf("%.0f %%; %.0f %% of the %d pairs that are not one configuration measured twice", 100*float64(o.right)/float64(max(1, o.pairs)),
			100*float64(o.rightDistinct)/float64(max(1, o.distinct)), o.distinct), float64(o.right) >= 0.9*float64(o.pairs))
	if len(o.regrets) > 0 {
		median, p90 := quantile(o.regrets, 0.5), quantile(o.regrets, 0.9)
		line(regretWhat, len(o.regrets), "median ≤ 1.02, p90 ≤ 1.08", fmt.Sprintf("median %.3f, p90 %.3f", median, p90), median <= 1.02 && p90 <= 1.08)
	}
	n, right := memoryPairs(results)
	reached := fmt.Sprintf("%d of %d", right, n)
	if n == 0 {
		reached = "nothing to compare"
	}
	line(pairsWhat, n, "sign, and size within 15 % of it", reached, n > 0 && right == n)
	return missed
}

// memoryPairs compares differences of memory between rows of one model, GPU
// count and definition, where the rows are few and differ on purpose.
func memoryPairs(results []result) (pairs, right int) {
	groups := map[string][]*memoryResult{}
	for i := range results {
		r := &results[i]
		if r.Memory == nil || r.Source != "megatron_bridge_skills" || strings.HasPrefix(r.example.row.Notes, "OOM") {
			continue // the peak of a run that ended early is not that of a step
		}
		x := r.example.row
		k := fmt.Sprint(x.Model.Name, x.Cluster.GPUs, x.Precision, x.Layout.GBS, r.Memory.Definition)
		groups[k] = append(groups[k], r.Memory)
	}
	for _, g := range groups {
		for i, a := range g {
			for _, b := range g[:i] {
				measured, predicted := a.MeasuredBytes-b.MeasuredBytes, a.PredictedBytes-b.PredictedBytes
				if measured == 0 {
					continue
				}
				pairs++
				if math.Abs(predicted/measured-1) <= 0.15 {
					right++
				}
			}
		}
	}
	return pairs, right
}

// ordering is what order finds.
type ordering struct {
	pairs, right            int // pairs whose measured times differ by more than 5 %, and those predicted in the same order
	distinct, rightDistinct int // of these, pairs that are not one configuration twice
	regrets                 []float64
}

// sameJob reports whether two rows are one configuration, measured twice.
func sameJob(a, b *example) bool {
	return fmt.Sprint(a.layout, a.exec, a.job.Training) == fmt.Sprint(b.layout, b.exec, b.job.Training)
}

// compare adds one pair of measured steps.
func (o *ordering) compare(a, b *result) {
	if math.Abs(math.Log(a.Time.MeasuredSeconds/b.Time.MeasuredSeconds)) <= math.Log(1.05) {
		return
	}
	right := (a.Time.MeasuredSeconds < b.Time.MeasuredSeconds) == (a.Time.PredictedSeconds < b.Time.PredictedSeconds) && a.Time.PredictedSeconds != b.Time.PredictedSeconds
	o.pairs++
	if right {
		o.right++
	}
	if sameJob(a.example, b.example) {
		return
	}
	o.distinct++
	if right {
		o.rightDistinct++
	}
}
