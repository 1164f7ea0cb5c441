package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/ndc-dev/ndc/compiler/estimate"
)

// document writes docs/accuracy.md and its drawing: everything that the
// command knows about a folder of rows.
func document(path string, results []result, c *crossValidation, e *evidence, worst int) error {
	drawing := strings.TrimSuffix(path, filepath.Ext(path)) + ".svg"
	if err := writeScatter(drawing, results); err != nil {
		return err
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, opening, len(estimate.ParameterRecords()))
	b.WriteString("\n## Goals\n\n" + goalsText + "\n")
	printGoals(&b, results, c)
	printBias(&b, results, c)
	b.WriteString("\n## By source\n\n```\n")
	report(&b, results, 0)
	b.WriteString("```\n\n![predicted over measured step time](" + filepath.Base(drawing) + ")\n")
	b.WriteString("\n## The choice\n\n" + choiceText + "\n```\n")
	printRegret(&b, results)
	b.WriteString("```\n\n### What options gained\n\n" + gainsText + "\n")
	printGains(&b, results)
	b.WriteString("\n### Strategies for mixtures\n\n" + strategiesText)
	printStrategies(&b, results)
	b.WriteString("\n### Large machines\n\n" + largeText)
	printSteps(&b, results, largeMachines)
	b.WriteString("\n### DeepSpeed\n\n" + deepSpeedText)
	printSteps(&b, results, deepSpeed)
	b.WriteString("\n### TorchTitan's logs\n\n" + torchTitanText)
	printSteps(&b, results, torchTitanLogs)
	b.WriteString("\n## Ranges\n\n" + rangesText + "\n")
	printCoverage(&b, results, e)
	printMemoryCoverage(&b, results)
	printSkill(&b, results)
	b.WriteString("\n" + skillText)
	b.WriteString("\n## The worst rows\n\n| error | row | predicted | measured | suspected cause |\n|---|---|---|---|---|\n")
	for _, r := range worstRows(results, worst) {
		fmt.Fprintf(&b, "| %+.0f %% | %s | %.2f s | %.2f s | %s |\n", 100*(r.Time.PredictedSeconds/r.Time.MeasuredSeconds-1), r.ID, r.Time.PredictedSeconds, r.Time.MeasuredSeconds, suspected(r))
	}
	b.WriteString("\n" + closing)
	return os.WriteFile(path, b.Bytes(), 0o644)
}

// printMemoryCoverage tells how often measured memory lies inside the range of
// the predicted, by definition and source, and inside the range that the rows of
// other models alone would give it.
func printMemoryCoverage(w io.Writer, results []result) {
	inside, others := map[string][]bool{}, map[string][]bool{}
	width := map[string][2]float64{}
	names := []string{}
	for i := range results {
		r := &results[i]
		if r.Memory == nil || r.apart || r.judge {
			continue
		}
		k := r.Memory.Definition + ", " + r.Source
		if inside[k] == nil {
			names = append(names, k)
		}
		ratio := r.Memory.MeasuredBytes / r.Memory.PredictedBytes
		inside[k] = append(inside[k], ratio >= r.memoryRange[0] && ratio <= r.memoryRange[1])
		width[k] = r.memoryRange
		if o := ratiosOfOthers(results, r); len(o) >= 10 {
			others[k] = append(others[k], ratio >= quantile(o, 0.05) && ratio <= quantile(o, 0.95))
		}
	}
	fmt.Fprintf(w, "\n| memory | rows | inside | inside that of other models | range |\n|---|---|---|---|---|\n")
	for _, k := range names {
		held := "fewer than ten rows"
		if n := len(others[k]); n > 0 {
			held = percentOf(others[k])
		}
		fmt.Fprintf(w, "| %s | %d | %s | %s | %+.1f to %+.1f %% |\n", k, len(inside[k]), percentOf(inside[k]), held, 100*width[k][0]-100, 100*width[k][1]-100)
	}
}

// opening begins docs/accuracy.md.
const opening = `<!-- Written by ` + "`make accuracy`" + `. -->
# How close the predictions are

Every row of testdata/measured is made into a job with everything pinned and predicted through the same targets and estimate as
` + "`ndc plan`" + ` (` + "`go run ./tools/accuracy -write FOLDER`" + ` keeps the jobs as job.hcl; ` + "`ndc plan`" + ` of one prints the same step time where the run's framework is one that
ndc emits for as it stands, such as DGXC and SimuMax; an older one borrows the nearest target, and tools/accuracy/frameworks.json says what
differs). Errors are predicted over measured, minus one. ` + "`-rows FOLDER`" + ` predicts other rows in the same format.

- What kernels and links cannot tell are the %d numbers of compiler/estimate/data/parameters.json: rates in training over measured
  kernels by silicon and width, overhead of the host per engine, contention while overlapping, each within physical bounds. Those that any of
  these rows moves were fitted on them, all at once (` + "`-fit all`" + `), those of PyTorch's engine once more after its layers' kernels were counted: near where the fit is best, the values under which no ceiling broke. No row, model or source has a factor of its own.
- A fit draws each parameter a little to the middle of its bounds, and the rates of 16 bits of successive silicons, and elementwise work of the two
  engines, to each other. How much was chosen by the errors on sources left out, which are better for that than a new source's would be.
- Beside the fit stand errors on rows that had no part in it: all parameters are fitted again from the middle of their bounds, once
  without each source and once without each model (one architecture under all its names and layer counts), and predict what was left out.
  ` + "`-crossvalidate`" + ` computes that anew; nothing is kept between runs.
- Rows marked layout_uncertain, those of hybrid models and those whose routers decided the loads of experts are apart: they fit nothing and count for no goal. Of rows that leave open what the run's program has a
  default for (clusters.jsonl), memory alone is compared.
`

const goalsText = `Reached: with the embedded parameters. Of memory, what torch allocates has no parameter; reserved and device memory have one share per
framework, the allocator's slack, which is set anew by the other models' rows where a model is left out. Below the table stands what is known of the goals that are missed
(tools/accuracy/misses.json). Rows in no fit are judged as they are predicted; beside that stands what they are expected to take on a new cluster, by what all other sources took longer in the mean
([uncertainty.md](uncertainty.md)).
`

const choiceText = `Grids of layouts that were measured nearly completely judge which layout is chosen: the measured
time of the chosen one over the best, in per cent. Beside what ndc prefers stand the fastest prediction alone, a rule without any model of time (of the runs that showed less than 70 GB,
where memory was measured, those without recompute, the least tensor times pipeline parallelism, then the least pipeline, ZeRO-1, the largest micro-batch), a layout drawn blindly of those that ran, and by how much a second
measurement of one configuration differs at best. The rule knows which runs ran, which no prediction does. A prediction calls a layout feasible here if it is more likely so than not; ndc itself chooses with the
whole range of memory. ` + "`-json`" + ` has the place of a layout among those of its job as choice.score: 1 is what ndc chooses, what is tied with the fastest comes next.

- **nanotron** (testdata/measured/ultrascale_playbook.jsonl): its ways of keeping state and of communicating are
  a runtime of tools/accuracy. Nothing was fitted to it but that steps slow near the limit of memory ([uncertainty.md](uncertainty.md#memory)), which was seen nowhere else; with
  what the other models' runs alone say of it, the choice in every cell of 3.57B and 8.86B is the same. Cells beyond 64 GPUs leave so little work per GPU that
  overheads of that cluster and framework decide.
- **AA-Scaling** (hagemann2023_layouts.jsonl): LLaMA 13B, 30B and 65B on 32 to 256 A100, with and without a kernel for RMSNorm, recompute and sequence parallelism. Nothing was fitted to it. Its engine is
  another runtime of tools/accuracy, read in what the authors published a year later. What its norms and its loss kept then is not published and was taken from what ran out of memory,
  so that its counts of failures say less than its choices. Of 13B on 32 and 64 GPUs the best run has no parallelism at all and is predicted at 100 to 103 % of the card, the best of 65B without the kernel at 91 %, with 3 in 100 odds of running
  out: what ndc leaves there is the price of its care. 13B in two stages of 2,048 tokens takes 9 to 40 % longer than predicted, the more the larger the micro-batch, and in one stage or at 8,192 tokens does not; why is not known.
`

const gainsText = `Pairs of published runs of one source that differ in one option of execution and in nothing else that is known, but for the release where a later table repeats a run: by how much the step with
the one was longer than with the other, at the median of the pairs (with the least and the most). A search compares such differences, so that an option that is
predicted to gain far more than it did is not chosen unasked ([megatron.md](megatron.md#cuda-graphs-that-nobody-asked-for)).
Graphs on GB200 that gained 36 % came with a bound host and faster kernels in the same step of a guide (dsv3_gb200_guide), and HybridEP's larger gain with more of them.
`

const strategiesText = `A paper on mixtures in Megatron-Core (Liu et al. 2025, arXiv:2504.14960) compares ways of cutting three models over 64 to 1,024 H100, and states neither micro-batch nor chunks
nor recompute, which its authors tuned for each. No fit sees it. Here all three are as ndc predicts them to be fastest of what is likely to fit, 1 to 8 sequences, all chunks that cut
the layers evenly, recompute of nothing, of norms and activations, of experts or of all. Utilisation becomes time by Megatron-LM's own count of those releases, with attention in full.
Left out are FSDP, of which the paper does not say whose it is, 8x70B, whose experts per token it does not say, and long sequences, where the count of attention decides.
`

const largeText = `Papers and tables on up to 12,288 GPUs that leave open how often layers are recomputed, most of them the micro-batch, and some the chunks of the pipeline. No fit sees them. What is open is as ndc predicts it to be fastest, as above:
of dense models recompute of nothing, of the core of attention, or of all. So a prediction is what the best of these settings would take, and steps of other settings take longer. How steps grow with the machine says more than how long they are.
Of MegaScale's paper these are the rows of Megatron-LM, which its authors compare with: from 256 to 1,024 GPUs and from 3,072 to 12,288 they lose 16 and 15 % of their efficiency, of which 10 and 13 are predicted. From 1,536 to 6,144 GPUs Nemotron-4 340B
grows as predicted (7 to 8 % too fast throughout); steps of 15B become 10 % longer from 1,536 to 2,304 GPUs, of which 2 are predicted. Ranges are those of the setting that is taken ([Ranges](#ranges)).
`

const deepSpeedText = `Hardly anything tells how long steps of DeepSpeed take, so that nothing was fitted to it: its own engine around layers of Hugging Face transformers. A benchmark of Qwen2.5 14B on eight A800 (modelscope/ms-swift) states all but how long the texts are that its
sequences are packed of: steps of ZeRO-2 and ZeRO-3 are predicted 4 and 2 % too long, with attention over whole sequences. Two persons' runs of LLaMA 7B on eight A800 were found. One of ZeRO-3 at 512 tokens
(hpcaitech/ColossalAI issue 4342) is met within 2 %. A table at 4,096 tokens (gist.github.com/chenyaofo/d4cd6a20ab4b95cb3a49491747e2139a) takes 1.4 to 1.7 times as long as predicted, 4 to 5 s more for 64 sequences whatever ZeRO, micro-batch and recompute are: as attention
without a flash kernel would, which does not matter at 512 tokens. With the optimizer in the host's memory it takes 17 to 20 s more than without, where its memory would do it in 3.5: one thread for each rank would explain that, of which ndc sets more. Neither is
stated, so that the rows count as uncertain. None of these rows counts for a goal. The ranges of DeepSpeed's steps are wider for want of more: 17 % of all terms together.
`

const torchTitanText = `Messages of TorchTitan's commits, one of its issues and one of another project print logs with step times and memory. No fit sees them. They are of developers' machines: the same job of Llama 3 8B on eight H100 is logged at 5,605 tokens/s/GPU in February 2025,
at 5,957 in March and at 7,031 in August, and Qwen3 32B with compile reaches 520 TFLOPS in the mean of its step, more than the products alone are predicted to reach at 500 W. All 23 runs are called feasible, and all eight that ran out of memory are not. Most of their memory is predicted too low. Three things stand out.
With compile the machine of February 2025 was 1.12 to 1.34 times as fast in 8 bits as in 16, where 1.3 to 1.5 are predicted; with tensor parallelism 8-bit steps are met. Mixtures of 2025 took 1.2 to 1.5 times as long as predicted: DeepSeek-V3 671B longest, most of whose step is exchange between nodes, and whose router was forced to send a token to neighbours.
One of 2026 on eight B200 took 13 % less. Four runs of Qwen3 32B with tensor parallelism judge memory alone: until October 2025 every rank gathered the queries and keys of all heads for their norms.
So ranges of TorchTitan on mixtures are wider: 17 % of all terms together.
`

const rangesText = `Every prediction carries a 90 % range. That of the step time comes from the spreads of its terms ([uncertainty.md](uncertainty.md)), which are the
most likely ones for steps that were predicted by parameters fitted without their source: a user's cluster is a source that no fit has seen. Sources that no fit sees at any time are among them. Rows of one
source on one GPU share the errors of their terms there (compiler/uncertainty/data/prior.json, ` + "`-spreads`" + `; what was assumed before stands in
tools/accuracy/spreads.json). ZeRO-3 of 2021 is left out: what ndc emits communicates otherwise. A row counts as far from what was measured as it is
from what other sources measured. Rows of the Ultra-Scale Playbook are those of a framework whose time no engine of ndc stands for: they judge order, not time. Those of InternLM, for whose layers another framework's stand, are judged, but the spreads are not fitted to them.
`

const skillText = `The Brier score is the mean square of what the probability of running out of memory was off by: 0 at best. A hard threshold says that what is predicted above
the GPU's memory fails and the rest runs. Skill is one minus the ratio of both. Rows that did not report count where it is certain or strongly suggested that memory
was why. A share of rows is no share of jobs: grids try what nobody would run, and sources publish what ran.
`

const closing = `The causes are suspicions by what a run is (tools/accuracy/causes.json).

Order compares layouts of one model, batch, precision, GPU count and source; regret is the measured time of the layout that the
prediction prefers over the best measured.
`
