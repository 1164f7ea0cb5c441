package main

import (
	"bytes"
	"os"
)

// preamble opens docs/accuracy.md.
const preamble = `<!-- Written by ` + "`go run ./tools/accuracy -out docs/accuracy.md`" + `. -->
# How close the predictions are

Every row of testdata/measured is made into a job with everything pinned and predicted through the same targets and estimate as
` + "`ndc plan`" + ` (` + "`-write FOLDER`" + ` keeps the jobs as job.hcl; ` + "`ndc plan`" + ` of one prints the same step time). Errors are predicted over measured, minus one.

- The parameters of compiler/estimate/data/parameters.json were fitted on these rows, all at once, within physical bounds: rates in training
  over measured kernels per GPU and width, overhead of the host per engine, contention while overlapping. No row, model or source has a
  factor of its own. These are therefore errors of a fit; errors on runs that were not fitted are larger: with every fitted parameter at
  a neutral value (rates 0.8 to 0.95, everything else as its source has it) the median over all rows is 7.5 %.
- Leaving one source out, refitted from the neutral values on the others (` + "`-fit … -leave SOURCE`" + `), the median error of the source left out is
  MosaicML 5.6 %, DGXC 1.6 % (mixtures of experts 19.7 %), Megatron-Bridge 3.5 % (mixtures of experts 17.3 %), BigScience 8.3 %, SimuMax B200
  9.2 % (mixtures of experts 5.1 %), SC21 6.8 %. Dense models carry over; mixtures of experts do not yet: their grouped
  multiplications and host overhead differ by software release.
- Rows marked layout_uncertain are apart and fit nothing.
- What is known to be wrong: ZeRO-3 of 2021 beyond a few hundred GPUs (it communicated by broadcasts, parameter by parameter); GPT-OSS in
  bf16 (attention sinks and clamped activations of early containers are not in the rows); one configuration measured at 1.6 times its own time in a later
  container; float8 rowwise against tensorwise on TorchTitan (one recipe here).
- Order compares layouts of one model, batch, precision, GPU count and source; regret is the measured time of the layout that the prediction
  prefers over the best measured.

` + "```\n"

// document writes the report as Markdown.
func document(path string, results []result, worst int) error {
	var b bytes.Buffer
	b.WriteString(preamble)
	report(&b, results, worst)
	b.WriteString("```\n")
	return os.WriteFile(path, b.Bytes(), 0o644)
}
