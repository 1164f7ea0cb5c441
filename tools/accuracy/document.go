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
  factor of its own. These are therefore errors of a fit; errors on runs that were not fitted are larger.
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
