package logs

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ndc-dev/ndc/tools/golden"
	_ "github.com/ndc-dev/ndc/tools/seldom"
)

// parse reads a whole text, whose last line need not have an end.
func parse(text string) *Log {
	var p Parser
	if err := p.Read(strings.NewReader(text + "\n")); err != nil {
		panic(err) // a string is read to its end
	}
	return p.Log()
}

// TestGoldens reads logs of trainings on CPU ranks (integration/slurm's job with
// two ranks, TorchTitan 0.3.0, DeepSpeed 0.19.8 and Megatron-LM 0.19.2), the
// lines that say nothing left out. chain.log is two of them with what srun and
// the Slurm script put around them, and an end that was made up.
func TestGoldens(t *testing.T) {
	names, err := filepath.Glob("testdata/*.log")
	if err != nil || len(names) < 4 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			golden.Compare(t, strings.TrimSuffix(name, ".log")+".want", []byte(describe(parse(string(text)))))
		})
	}
}

// describe writes a log on a page.
func describe(l *Log) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %d steps in all\n", l.Framework, l.Total)
	for i := range l.Launches {
		x := &l.Launches[i]
		fmt.Fprintf(&b, "launch of line %d: job %q, run %q of configuration %q, %s on %d GPUs, %.1f s of time stamps, status %d\n",
			x.Line, x.Job, x.Run, x.Configuration, x.Framework, x.GPUs, x.Ended.Sub(x.Began).Seconds(), x.Status)
	}
	for i := range l.Phases {
		x := &l.Phases[i]
		fmt.Fprintf(&b, "%s of launch %d after step %d: %.2f s\n", x.Kind, x.Launch, x.Iteration, x.Seconds)
	}
	for i := range l.Failures {
		x := &l.Failures[i]
		fmt.Fprintf(&b, "failure of launch %d in line %d: %s\n", x.Launch, x.Line, x.Kind)
	}
	for i := range l.Timers {
		x := &l.Timers[i]
		fmt.Fprintf(&b, "timer %s after step %d: %.4f s\n", x.Name, x.Iteration, x.Seconds)
	}
	for i := range l.Steps {
		x := &l.Steps[i]
		fmt.Fprintf(&b, "step %d over %d: %.4f s, loss %.4f\n", x.Iteration, x.Over, x.Seconds, x.Loss)
	}
	y := l.Steady(Conditions{SaveInterval: 20})
	fmt.Fprintf(&b, "%d steady reports, mean %.4f s, spread %.1f %%\n", len(y.Steps), y.Mean, 100*y.Spread)
	for _, r := range y.Refused {
		fmt.Fprintf(&b, "refused %d from step %d on: %s\n", r.Reports, r.First, r.Reason)
	}
	return b.String()
}

// TestLines reads lines as releases and launchers print them: the formats are
// those of the sources named in the package, the values made up.
func TestLines(t *testing.T) {
	const meshes = "[rank0]:[titan] 2026-05-19 20:23:25,846 - root - INFO - Building device mesh with parallelism: pp=2, dp_replicate=1, dp_shard=4, cp=1, tp=1, ep=1\n" +
		"[rank0]:[titan] 2026-05-19 20:23:29,786 - root - INFO - Trainer is initialized with local batch size 2, global batch size 16, gradient accumulation steps 2, sequence length 1000, total steps 10 (warmup 600)\n"
	for _, c := range []struct {
		name, text string
		want       Step
	}{
		{"megatron, 2024", " iteration       10/    1000 | consumed samples:           80 | elapsed time per iteration (ms): 8195.9 | throughput per GPU (TFLOP/s/GPU): 23.5 | learning rate: 1.000000E-06 | global batch size:     8 | lm loss: 8.482397E+00 | loss scale: 1.0 | number of nan iterations:   0 |",
			Step{Iteration: 10, Over: 1, Seconds: 8.1959, Sequences: 8, TFLOPS: 23.5, Loss: 8.482397}},
		{"a mean behind a slash", " iteration        4/      20 | consumed samples:           64 | elapsed time per iteration (ms): 654.5/735.1 | throughput per GPU (TFLOP/s/GPU): 1290.3/1162.8 | lm loss: 1.0E+01 |",
			Step{Iteration: 4, Over: 1, Seconds: 0.6545, TFLOPS: 1290.3, Loss: 10}},
		{"NeMo 2", "i.train/0 Training epoch 0, iteration 45/99 | lr: 1.5e-06 | global_batch_size: 64 | global_step: 45 | max_memory_reserved: 1073741824 | max_memory_allocated: 536870912 | reduced_train_loss: 8.25 | train_step_timing in s: 2.5 | TFLOPS_per_GPU: 1.25e+03 | consumed_samples: 2944 | val_loss: 8.5",
			Step{Iteration: 46, Over: 1, Seconds: 2.5, Sequences: 64, TFLOPS: 1250, Loss: 8.25, Allocated: 1 << 29, Reserved: 1 << 30}},
		{"NeMo 2, its second epoch", "[2025-10-17T11:33:02+08:00] Training epoch 1, iteration 0/99 | lr: 1.5e-06 | global_batch_size: 64 | global_step: 100 | reduced_train_loss: 8.25 | train_step_timing in s: 2.5",
			Step{Iteration: 101, Over: 1, Seconds: 2.5, Sequences: 64, Loss: 8.25}},
		{"memory before the step", "1: [Rank 8] (after 2 iterations) memory (MB) | allocated: 1.0 | max allocated: 2048.5 | reserved: 3.0 | max reserved: 4096\n0: [Rank 0] (after 2 iterations) memory (MB) | allocated: 1.0 | max allocated: 1024 | reserved: 3.0 | max reserved: 5120\n" +
			"3:  iteration        2/      20 | consumed samples:           64 | elapsed time per iteration (ms): 100.0 | lm loss: 1.0E+01 |",
			Step{Iteration: 2, Over: 1, Seconds: 0.1, Loss: 10, Allocated: 2048.5 * (1 << 20), Reserved: 5120 * (1 << 20)}},
		{"torchtitan with colours", meshes + "[rank0]:[titan] 2026-05-19 20:23:51,449 - root - INFO - \x1b[31mstep:  1  \x1b[32mloss: 12.27569  \x1b[38;2;180;60;0mgrad_norm: 25.3750  \x1b[36mmemory: 16.50GiB(91.78%)  \x1b[34mtps: 2,000  \x1b[36mtflops: 1,155.79  \x1b[35mmfu: 6.92%\x1b[39m",
			Step{Iteration: 1, Over: 1, Seconds: 1, TFLOPS: 1155.79, Loss: 12.27569, TokensPerSecond: 2000, Reserved: 16.5 * (1 << 30)}},
		{"torchtitan with cleared lines, as of grep --color", meshes + "[rank0]:[titan] 2026-05-19 20:23:51,449 - root - INFO - \x1b[?25l\x1b[01;31m\x1b[Kstep:\x1b[m\x1b[K  1  \x1b[32mloss: 12.27569\x1b[0m\x1b[K  grad_norm: 25.3750  memory: 16.50GiB(91.78%)  tps: 2,000  tflops: 1,155.79  mfu: 6.92%\x1b[2K\x1b[1G",
			Step{Iteration: 1, Over: 1, Seconds: 1, TFLOPS: 1155.79, Loss: 12.27569, TokensPerSecond: 2000, Reserved: 16.5 * (1 << 30)}},
		{"torchtitan 0.1 without a norm and a head", "[rank0]:[titan] 2025-06-16 22:30:50,322 - root - INFO - step: 200  loss:  6.1384  memory: 49.50GiB(52.28%)  tps: 5,856  tflops: 339.16  mfu: 34.29%",
			Step{Iteration: 200, Over: 1, Loss: 6.1384, Seconds: 8.743169399, TokensPerSecond: 5856, TFLOPS: 339.16, Reserved: 49.5 * (1 << 30)}},
		{"torchtitan's first and last stage", meshes + "[rank0]:[titan] 2026-05-19 20:23:51,449 - root - INFO - step:  1  loss: -2.00000  grad_norm: 25.3750  memory: 16.50GiB(91.78%)  tps: 2,000  tflops: 1,155.79  mfu: 6.92%\n" +
			"[rank7]:[titan] 2026-05-19 20:23:51,449 - root - INFO - step:  1  loss:  3.25000  grad_norm: 25.3750  memory: 12.50GiB(91.78%)  tps: 2,000  tflops: 1,155.79  mfu: 6.92%",
			Step{Iteration: 1, Over: 1, Seconds: 1, TFLOPS: 1155.79, Loss: 3.25, TokensPerSecond: 2000, Reserved: 16.5 * (1 << 30)}},
		{"a loss that is no number on the stage that has one", meshes + "[rank7]:[titan] 2026-05-19 20:23:51,449 - root - INFO - step:  1  loss:      nan  grad_norm: 25.3750  memory: 12.50GiB(91.78%)  tps: 2,000  tflops: 1,155.79  mfu: 6.92%\n" +
			"[rank0]:[titan] 2026-05-19 20:23:51,449 - root - INFO - step:  1  loss: -2.00000  grad_norm: 25.3750  memory: 16.50GiB(91.78%)  tps: 2,000  tflops: 1,155.79  mfu: 6.92%",
			Step{Iteration: 1, Over: 1, Seconds: 1, TFLOPS: 1155.79, NoNumber: true, TokensPerSecond: 2000, Reserved: 16.5 * (1 << 30)}},
		{"megatron, no number", " iteration       10/    1000 | elapsed time per iteration (ms): 8195.9 | lm loss: NAN |", Step{Iteration: 10, Over: 1, Seconds: 8.1959, NoNumber: true}},
		{"ndc's program for DeepSpeed, infinite", "step 2/40 loss inf gradient norm nan learning rate 1.5e-03 seconds 0.5 tokens/s/GPU 1855.6",
			Step{Iteration: 2, Over: 1, Seconds: 0.5, NoNumber: true, TokensPerSecond: 1855.6}},
		{"a pipeline of DeepSpeed, no number", "steps: 20 loss: nan aux loss: 0.1000 iter time (s): 0.500 samples/sec: 200.000", Step{Iteration: 20, Over: 1, Seconds: 0.5, NoNumber: true, SamplesPerSecond: 200}},
		{"an engine of DeepSpeed", "[2024-09-23 10:11:02,482] [INFO] [timer.py:260:stop] epoch=0/micro_step=6000/global_step=600, RunningAvgSamplesPerSec=64.9, CurrSamplesPerSec=50.0, MemAllocated=0.06GB, MaxMemAllocated=1.5GB",
			Step{Iteration: 600, Over: 1, Seconds: 2, SamplesPerSecond: 50, Allocated: 1.5 * (1 << 30)}},
		{"a pipeline of DeepSpeed", "steps: 20 loss: 3.2500 aux loss: 0.1000 iter time (s): 0.500 samples/sec: 200.000",
			Step{Iteration: 20, Over: 1, Seconds: 0.5, Loss: 3.25, SamplesPerSecond: 200}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := parse(c.text)
			l.Fill(Batch{Sequences: 100, Length: 1024, GPUs: 2})
			if len(l.Steps) != 1 {
				t.Fatalf("%d steps", len(l.Steps))
			}
			got := l.Steps[0]
			got.Line, got.At = 0, c.want.At
			if got.Seconds = math.Round(got.Seconds*1e9) / 1e9; got != c.want {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
		})
	}
}

// TestTable reads output of nccl-tests: 16 ranks on two nodes.
func TestTable(t *testing.T) {
	var b strings.Builder
	b.WriteString("# nThread 1 nGpus 1 minBytes 1048576 maxBytes 2097152 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0\n#\n# Using devices\n")
	for i := range 16 {
		fmt.Fprintf(&b, "#  Rank %2d Group  0 Pid  %d on    node-%d device  %d [0x1b] NVIDIA H100 80GB HBM3\n", i, 1000+i, i/8, i%8)
	}
	b.WriteString("#\n#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n")
	b.WriteString("     1048576        262144     float     sum      -1    100.0   10.49   19.66      0    101.0   10.38   19.47      0\n")
	b.WriteString("     2097152        524288     float     sum      -1    150.0   13.98   26.21      2    151.0   13.89   26.04      0\n")
	b.WriteString("# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 22.9\n#\n")
	l := parse(b.String())
	if len(l.Tables) != 1 || len(l.Steps) != 0 {
		t.Fatalf("%+v", l)
	}
	x := l.Tables[0]
	if x.Collective != "all_reduce" || x.Ranks != 16 || x.Nodes != 2 || len(x.Rows) != 2 {
		t.Fatalf("%+v", x)
	}
	if r := x.Rows[0]; r.Bytes != 1<<20 || math.Abs(r.Seconds-1e-4) > 1e-12 || r.BusBandwidth != 19.66e9 || r.Wrong || !x.Rows[1].Wrong {
		t.Errorf("%+v", x.Rows)
	}
	named := strings.Replace(b.String(), "# nThread", "# Collective test starting: all_gather_perf\n# nThread", 1)
	if c := parse(named).Tables[0].Collective; c != "all_gather" {
		t.Errorf("a named table is of %q", c)
	}
}

// TestCollectedChain: what the script says of its launches is read behind any text.
func TestCollectedChain(t *testing.T) {
	text, err := os.ReadFile("testdata/chain.log")
	if err != nil {
		t.Fatal(err)
	}
	want := parse(string(text))
	for _, before := range []string{"[pod/a/b] ", "Nov 22 23:14:22 node-0 job[1]: ", "node-0: ", "train\t", " 10%|#  | 1/10\r", "\r 10%|#  | 1/10 [00:01<00:09,  1.00s/it]"} {
		got := parse(prefixed(before, string(text)))
		for i := range want.Launches {
			a, b := &got.Launches[i], &want.Launches[i]
			if a.Job != b.Job || a.Run != b.Run || a.Configuration != b.Configuration || a.Status != b.Status {
				t.Errorf("behind %q: %+v, want %+v", before, a, b)
			}
		}
	}
}

// TestBackwards: what is wrong with a log whose newest lines stand first is said.
func TestBackwards(t *testing.T) {
	var b strings.Builder
	for i := 400; i > 0; i -= 10 {
		fmt.Fprintf(&b, "step %d/400 loss 2.0 gradient norm 1.0 learning rate 1e-3 seconds 1.0 tokens/s/GPU 10.0\n", i)
	}
	if y := parse(b.String()).Steady(Conditions{}); len(y.Steps) != 0 || len(y.Refused) != 1 || y.Refused[0].Reports != 40 || !strings.Contains(y.Refused[0].Reason, "newest lines stand first") {
		t.Errorf("%+v", y)
	}
}

// TestSteadySteps puts what is refused into a log of even steps.
func TestSteadySteps(t *testing.T) {
	var b strings.Builder
	step := func(i int, seconds float64) {
		fmt.Fprintf(&b, "step %d/400 loss 2.0 gradient norm 1.0 learning rate 1e-3 seconds %.4f tokens/s/GPU 10.0\n", i, seconds)
	}
	for i := 10; i <= 300; i += 10 {
		seconds := 1 + 0.001*float64(i%3)
		switch i {
		case 10:
			seconds = 3
		case 110:
			seconds = 1.4 // the checkpoint of step 100
		case 200:
			seconds = 2 // a stall
		}
		step(i, seconds)
	}
	for i := 210; i <= 250; i += 10 { // a restart from step 200
		step(i, 1)
	}
	y := parse(b.String()).Steady(Conditions{SaveInterval: 100})
	refused := map[string]int{}
	for _, r := range y.Refused {
		word, _, _ := strings.Cut(r.Reason, " ")
		refused[word] = r.Reports
	}
	// Step 210 begins behind the checkpoint of step 200, in both launches; in the second it is warm-up.
	if refused["warm-up:"] != 2 || refused["a"] != 2 || refused["slower"] != 1 || math.Abs(y.Mean-1.001) > 0.001 || len(y.Steps) != 30 {
		t.Errorf("%d steps, mean %g, refused %v", len(y.Steps), y.Mean, y.Refused)
	}
	if y.Throttling() != "" {
		t.Errorf("even steps throttle: %s", y.Throttling())
	}
	b.Reset()
	for i := 1; i <= 300; i++ {
		step(i, 1+0.0005*float64(i))
	}
	if y := parse(b.String()).Steady(Conditions{}); y.Throttling() == "" {
		t.Errorf("steps that grow by %.0f %% do not throttle", 100*y.Drift)
	}
}

// TestLongLines: a line of any length is read up to its limit.
func TestLongLines(t *testing.T) {
	l := parse(strings.Repeat("x", 3*longest) + "\nsteps: 20 loss: 3.2500 iter time (s): 0.500 samples/sec: 200.000")
	if len(l.Steps) != 1 {
		t.Errorf("%d steps behind a long line", len(l.Steps))
	}
}

// FuzzParse: whatever a log holds, it is read, and its steps are in order.
func FuzzParse(f *testing.F) {
	names, _ := filepath.Glob("testdata/*.log")
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Add("# Rank 3 Pid 1 on a device 0\n 8 2 float sum -1 1.0 2.0 3.0 0\n")
	f.Add(" iteration 99999999999999999999/1 | elapsed time per iteration (ms): nan |")
	f.Fuzz(func(t *testing.T, text string) {
		l := parse(text)
		l.Fill(Batch{Sequences: 8, Length: 8, GPUs: 1})
		for i := range l.Steps {
			s := &l.Steps[i]
			if s.Iteration <= 0 || s.Over <= 0 || s.Launch >= len(l.Launches) || math.IsNaN(s.Seconds) || i > 0 && s.Launch == l.Steps[i-1].Launch && s.Iteration <= l.Steps[i-1].Iteration {
				t.Fatalf("step %d: %+v", i, s)
			}
		}
		y := l.Steady(Conditions{SaveInterval: 3})
		if len(y.Steps) > len(l.Steps) || math.IsNaN(y.Mean) {
			t.Fatalf("%+v", y)
		}
		l.Peak()
		l.FirstPeak()
	})
}

// TestSpeeds reads what check_speed.py prints.
func TestSpeeds(t *testing.T) {
	l := parse("ndc: GEMM of 8192 rows in bf16, 12 nodes each: 0.00165 s, predicted 0.0015 s\n" +
		"ndc: all-reduce of 1024 MiB over 8 GPUs, 12 nodes each: 5e-03 s, predicted 0.0046 s\n" +
		"0: ndc: all-reduce of 1024 MiB over 12 nodes, a1 to a12: 0.0072 s, predicted 0.006 s\n" +
		"ndc: all-reduce of 1024 MiB over 12 nodes, a1 to a12: it did not end in 120 s\n" +
		"ndc: GEMM of 8192 rows in bf16, 12 nodes each: 0.00165 s, predicted inf s\n")
	want := []Speed{{1, Products, 12, 0.00165, 0.0015}, {2, Inside, 12, 0.005, 0.0046}, {3, Between, 12, 0.0072, 0.006}}
	if !slices.Equal(l.Speeds, want) {
		t.Errorf("%+v, want %+v", l.Speeds, want)
	}
}

// TestMost: a log of any length leaves a bounded number of records, of steps the newest.
func TestMost(t *testing.T) {
	var p Parser
	for i := 1; i <= 3*most; i++ {
		p.step(DeepSpeed, Step{Iteration: i, Seconds: 2})
		p.phase(Evaluation, 0)
	}
	l := p.Log()
	if n := len(l.Steps); n > 2*most || l.Last().Iteration != 3*most || len(l.Phases) != most {
		t.Errorf("%d steps, the last %d, and %d phases", n, l.Last().Iteration, len(l.Phases))
	}
	if y := l.Steady(Conditions{}); math.Abs(y.Mean-2) > 1e-9 {
		t.Errorf("mean %g", y.Mean)
	}
}

// TestLongLine: of a line of any length so much is kept as lines may have.
func TestLongLine(t *testing.T) {
	got := 0
	if err := Lines(io.MultiReader(io.LimitReader(zeros{}, 8*longest), strings.NewReader("\n")), func(line string) { got = len(line) }); err != nil || got != longest {
		t.Errorf("%d characters, %v", got, err)
	}
}

// zeros is a text of zeros that has no end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

// TestTinyTime: a time from which no rate can be computed is none.
func TestTinyTime(t *testing.T) {
	var p Parser
	p.Line(" iteration        1/      40 | elapsed time per iteration (ms): 1e-308 | global batch size:     8 | lm loss: 6.2 |")
	if steps := p.Log().Steps; len(steps) != 1 || steps[0].Seconds != 0 || steps[0].Loss != 6.2 {
		t.Errorf("%+v", steps)
	}
}

// TestWithout: what is left of a log is that of its other launches, which are counted
// anew; tables and speeds are the machine's.
func TestWithout(t *testing.T) {
	text, err := os.ReadFile("testdata/chain.log")
	if err != nil {
		t.Fatal(err)
	}
	l := parse("ndc: GEMM of 8192 rows in bf16, 12 nodes each: 0.00165 s, predicted 0.0015 s\n" + string(text))
	if same, refused := l.Without(func(*Launch) string { return "" }); same != l || refused != nil {
		t.Errorf("left out: %+v", refused)
	}
	for job, want := range map[string]struct{ launches, steps, failures, refused int }{
		"812": {1, len(l.Steps) - 5, 0, 5}, "813": {1, 5, 1, len(l.Steps) - 5}, "none": {0, 0, 0, len(l.Steps)},
	} {
		left, refused := l.Without(func(x *Launch) string {
			if x.Job == job || job == "none" {
				return "another"
			}
			return ""
		})
		reports := 0
		for _, r := range refused {
			reports += r.Reports
		}
		if len(left.Launches) != want.launches || len(left.Steps) != want.steps || len(left.Failures) != want.failures || reports != want.refused || len(left.Speeds) != 1 {
			t.Errorf("without %s: %d launches, %d steps, %d failures, %d speeds; %+v", job, len(left.Launches), len(left.Steps), len(left.Failures), len(left.Speeds), refused)
		}
		for i := range left.Steps {
			if left.Steps[i].Launch != 0 {
				t.Errorf("without %s: %+v", job, left.Steps[i])
			}
		}
		if job == "none" && len(left.Timers) > 0 || job == "812" && len(left.Timers) == 0 && len(l.Timers) > 0 {
			t.Errorf("without %s: %d timers of %d", job, len(left.Timers), len(l.Timers))
		}
	}
}

// TestWithoutMany: as many launches as are kept are left out by going through the steps once.
func TestWithoutMany(t *testing.T) {
	l := &Log{Launches: make([]Launch, most), Steps: make([]Step, most)}
	for i := range l.Steps {
		l.Steps[i] = Step{Launch: i, Iteration: 1}
	}
	begun := time.Now()
	_, refused := l.Without(func(*Launch) string { return "another" })
	if took := time.Since(begun); took > 10*time.Second || len(refused) != 1 || refused[0].Reports != most {
		t.Errorf("%v, %+v", took, refused)
	}
	for i := range l.Launches {
		l.Launches[i].Job = strconv.Itoa(i)
	}
	begun = time.Now()
	_, refused = l.Without(func(x *Launch) string { return "job " + x.Job })
	if took := time.Since(begun); took > 10*time.Second || len(refused) != most {
		t.Errorf("%v, %d reasons", took, len(refused))
	}
}

// TestLaunchFacts: what a launch says of itself; a start of the same script is of the
// same build, another job is of its own.
func TestLaunchFacts(t *testing.T) {
	const step = "step %d/9 loss 2.5 gradient norm 1.0 learning rate 1e-4 seconds 2.0 tokens/s/GPU 512.0\n"
	l := parse("ndc: job 7 on a\nndc: link 1 of run 6; configuration 9d1c; ndc 0.1.0; git revision none\n" + fmt.Sprintf(step, 2) +
		"ndc: srun ended with status 1\nndc: start 1 of job 7, on a\n" + fmt.Sprintf(step, 3) + fmt.Sprintf(step, 1) +
		"ndc: srun ended with status 0\nndc: job 8 on a\n" + fmt.Sprintf(step, 4))
	var got []string
	for i := range l.Launches {
		got = append(got, l.Launches[i].Run+" "+l.Launches[i].Configuration+" "+l.Launches[i].Framework)
	}
	if want := []string{"6 9d1c deepspeed", "6 9d1c deepspeed", "6 9d1c deepspeed", "  deepspeed"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestLaunchWithoutSteps: a submission that fails before its first step is a launch of
// its own, so that the time until the next one is in a queue and not the GPUs'.
func TestLaunchWithoutSteps(t *testing.T) {
	l := parse("ndc: job 41 on a\n2026-01-01 10:00:00 loading\ntorch.OutOfMemoryError: CUDA out of memory.\nndc: srun ended with status 1\n" +
		"ndc: job 57 on a\nndc: start 1 of job 57, on a\n2026-01-04 10:00:00 loading\nNODE_FAIL of n2\nndc: srun ended with status 1\n" +
		"ndc: start 2 of job 57, on a\n2026-01-04 10:05:00 loading\nstep 1/9 loss 2.5 gradient norm 1.0 learning rate 1e-4 seconds 2.0 tokens/s/GPU 512.0\n")
	var got []string
	for i := range l.Launches {
		x := &l.Launches[i]
		got = append(got, fmt.Sprintf("%s %s %d", x.Job, x.Ended.Sub(x.Began), x.Status))
	}
	if want := []string{"41 0s 1", "57 0s 1", "57 2s -1"}; !slices.Equal(got, want) {
		t.Errorf("launches %q, want %q", got, want)
	}
	if len(l.Failures) != 2 || l.Failures[1].Launch != 1 || len(l.Steps) != 1 || l.Steps[0].Launch != 2 {
		t.Errorf("%+v, %+v", l.Failures, l.Steps)
	}
	if q := l.Phases[0]; q.Kind != Queue || q.Seconds != 3*24*3600 {
		t.Errorf("%+v", l.Phases)
	}
}

// TestLateRanks: the lines of a rank may come long after those of others, as a launcher
// passes them on. They are of the same launch, whether ranks are named or not; a step
// that is said again later is of another.
func TestLateRanks(t *testing.T) {
	rank := func(name string, gib, first, last, minute int) string {
		var b strings.Builder
		if first == 1 {
			for _, said := range []string{"torchtitan version: 0.2.2.", "Building device mesh with parallelism: pp=1, dp_replicate=1, dp_shard=2, cp=1, tp=1, ep=1",
				"Trainer is initialized with local batch size 2, global batch size 8, gradient accumulation steps 1, sequence length 1000, total steps 30 (warmup 2)"} {
				fmt.Fprintf(&b, "%s[titan] 2026-01-01 10:%02d:00,000 - root - INFO - %s\n", name, minute, said)
			}
		}
		for i := first; i <= last; i++ {
			fmt.Fprintf(&b, "%s[titan] 2026-01-01 10:%02d:%02d,%d00 - root - INFO - step: %2d  loss:  6.1384  grad_norm:  1.0  memory: %d.00GiB(52.28%%)  tps: 2,000  tflops: 339.16  mfu: 34.29%%\n", name, minute, i, gib%10, i, gib)
		}
		return b.String()
	}
	// The clock of a node may be ahead: what its rank says late seems to come last.
	if l := parse(rank("0: ", 41, 1, 8, 0) + rank("1: ", 42, 2, 7, 1) + rank("0: ", 41, 9, 15, 0)); len(l.Launches) != 1 || len(l.Steps) != 15 {
		t.Errorf("a clock that is ahead: %d launches, %d steps", len(l.Launches), len(l.Steps))
	}
	for _, names := range [][2]string{{"[rank0]:", "[rank1]:"}, {"0: ", "1: "}, {"", ""}} {
		l := parse(rank(names[0], 41, 1, 8, 0) + rank(names[1], 42, 1, 20, 0) + rank(names[0], 41, 9, 15, 0) + rank(names[1], 43, 10, 20, 5))
		if len(l.Launches) != 2 || len(l.Steps) != 31 || l.Launches[0].GPUs != 2 {
			t.Errorf("%q: %d launches, %d steps, %+v", names[0], len(l.Launches), len(l.Steps), l.Launches)
			continue
		}
		if s := l.Steps[3]; s.Seconds != 2 || s.Reserved != 42<<30 {
			t.Errorf("%q: %+v", names[0], s)
		}
		if y := l.Steady(Conditions{}); len(y.Steps) != 15 {
			t.Errorf("%q: %d steady steps of the first launch, whose times are known: %+v", names[0], len(y.Steps), y.Refused)
		}
	}
}

// TestBatch: steps of another batch than the run's own are no steady steps, nor is the
// mean of those among which it grew.
func TestBatch(t *testing.T) {
	var b strings.Builder
	for i := 10; i <= 200; i += 10 {
		batch, seconds := 64, 2.0
		if i <= 120 {
			batch, seconds = 16, 0.5
		} else if i == 130 {
			seconds = 1.1 // of both
		}
		fmt.Fprintf(&b, " iteration %8d/     200 | elapsed time per iteration (ms): %.1f | global batch size: %5d | lm loss: 8.4E+00 |\n", i, 1000*seconds, batch)
	}
	l := parse(b.String())
	if y := l.Steady(Conditions{Batch: Batch{Sequences: 64}}); len(y.Steps) != 7 || y.Mean != 2 || len(y.Refused) != 2 || y.Refused[1].Reports != 12 {
		t.Errorf("%d steps, mean %g, refused %v", len(y.Steps), y.Mean, y.Refused)
	}
	// DeepSpeed's program prints tokens per second, TorchTitan and Megatron-LM the batch before they train.
	b.Reset()
	for i := 1; i <= 20; i++ {
		fmt.Fprintf(&b, "step %d/20 loss 2.0 gradient norm 1.0 learning rate 1e-3 seconds 0.5000 tokens/s/GPU 512.0\n", i)
	}
	for sequences, want := range map[int]int{4: 15, 8: 0} {
		if y := parse(b.String()).Steady(Conditions{Batch: Batch{sequences, 128, 2}}); len(y.Steps) != want {
			t.Errorf("%d steps of %d sequences, want %d; refused %v", len(y.Steps), sequences, want, y.Refused)
		}
	}
	for _, rank := range []string{"", "0: ", "[default0]:", "3: [rank0]:"} {
		l = parse(rank + "using world size: 16, data-parallel size: 8, \n" + rank + "  global_batch_size ............................... 8\n" +
			rank + "  seq_length ...................................... 4096\n" + rank + " iteration 1/ 9 | elapsed time per iteration (ms): 5.0 |\n")
		if got, want := l.Launches[0].Batch, (Batch{0, 4096, 16}); got != want {
			t.Errorf("%s %+v, want %+v", rank, got, want)
		}
	}
}

// TestGlued: torchrun names a rank again where it read half a line, and another rank's line
// may stand between.
func TestGlued(t *testing.T) {
	const step = "step 3/9 loss 2.5 gradient norm 1.0 learning rate 1e-3 seconds 0.5000 tokens/s/GPU 512.0"
	const other = "rank 1 saves"
	for text, want := range map[string][]string{
		"[default0]:" + step:                                         {"[default0]:" + step},
		"1: [default0]:" + step + "[default0]:":                      {"1: [default0]:" + step},
		"[default0]:step 3[default0]: loss 2.5":                      {"[default0]:step 3 loss 2.5"},
		"1: [default0]:" + step + "[default1]:" + other:              {"1: [default0]:" + step, "1: [default1]:" + other},
		"[default0]:a[default1]:b[default1]:c[default0]:d":           {"[default0]:a", "[default1]:bc", "[default0]:d"},
		strings.Repeat("0: ", 40) + "[default0]:a[default1]:b":       {strings.Repeat("0: ", 40) + "[default0]:a[default1]:b"}, // no launcher labels so
		"rank 0 prints [default0]: and [default1]:":                  {"rank 0 prints [default0]: and [default1]:"},
		"[default1]:" + other + "[default10]:" + step:                {"[default1]:" + other, "[default10]:" + step},
		"2026-11-27T08:41:00Z [default0]:" + step + "[default0]:":    {"2026-11-27T08:41:00Z [default0]:" + step},
		"2026-11-27T08:41:00Z 1: [default0]:" + step + "[default2]:": {"2026-11-27T08:41:00Z 1: [default0]:" + step, "2026-11-27T08:41:00Z 1: [default2]:"},
	} {
		if got := strings.Split(apart(text), "\n"); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	for _, line := range []string{"[default1]:" + other + "[default0]:" + step + "[default0]:\n", "0: [default0]:" + step + "[default0]:\n"} {
		if s := parse(line).Last(); s == nil || s.Iteration != 3 || s.Seconds != 0.5 {
			t.Errorf("%q: %+v", line, s)
		}
	}
}

// TestTables reads tables as releases and launchers print them: what cannot be told
// stays open.
func TestTables(t *testing.T) {
	ranks := func(format string, n, perNode int) string {
		var b strings.Builder
		b.WriteString("# nThread 1 nGpus 1 minBytes 1073741824 maxBytes 1073741824 step: 2(factor) warmup iters: 5 iters: 20 validation: 1\n#\n# Using devices\n")
		for i := range n {
			fmt.Fprintf(&b, format, i, 1000+i, i/perNode, i%perNode)
		}
		return b.String()
	}
	split := func(group func(rank int) int) string {
		var b strings.Builder
		b.WriteString("# Using devices\n")
		for i := range 16 {
			fmt.Fprintf(&b, "#  Rank %2d Group %2d Pid %6d on %10s device %2d [0000:1b:00] NVIDIA H100 80GB HBM3\n", i, group(i), 1000+i, fmt.Sprintf("node-%d", i/8), i%8)
		}
		return b.String()
	}
	const (
		now  = "#  Rank %2d Group  0 Pid  %d on    node-%d device  %d [0x1b] NVIDIA H100 80GB HBM3\n"
		old  = "#   Rank  %d Pid   %d on node-%d device  %d [0x00] Tesla V100-SXM2-16GB\n"
		sum  = "  1073741824     268435456     float     sum      -1   4511.2  238.02  446.28      0   4520.9  237.50  445.32      0\n"
		mean = "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 446\n#\n"
	)
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"an all-reduce", ranks(now, 16, 8) + sum + mean, []string{"all_reduce 16 2 446.28 false"}},
		{"two ranks", ranks(now, 2, 1) + "  1073741824     268435456     float     sum      -1    86786   12.37   12.37      0    86676   12.39   12.39    N/A\n" + mean, []string{" 2 2 12.37 false"}},
		{"two ranks that are named", "# Collective test starting: sendrecv_perf\n" + ranks(now, 2, 1) + "  1073741824     268435456     float     sum      -1    86786   12.37   12.37      0    86676   12.39   12.39    N/A\n" + mean, []string{"sendrecv 2 2 12.37 false"}},
		{"a program with MPI beside one without", "# Collective test starting: all_reduce_perf_mpi\n" + ranks(now, 2, 1) + "  1073741824     268435456     float     sum      -1    86786   12.37   12.37      0    86676   12.39   12.39      0\n" + mean, []string{"all_reduce 2 2 12.37 false"}},
		{"many ranks", ranks(now, 64, 8) + "  1073741824     268435456     float     sum      -1    86786   12.37   12.18      0    86676   12.39   12.39      0\n" + mean, []string{" 64 8 12.18 false"}},
		{"mpirun --tag-output", prefixed("[1,0]<stdout>:", ranks(now, 16, 8)+sum+mean), []string{"all_reduce 16 2 446.28 false"}},
		{"mpirun --tag-output of Open MPI 5", prefixed("[prterun-node-0-4711@1,0]<stdout>: ", ranks(now, 16, 8)+sum+mean), []string{"all_reduce 16 2 446.28 false"}},
		{"mpirun --output tag-detailed", prefixed("[prterun-node-0-4711@1,0][node-0:4712]<stdout>: ", ranks(now, 16, 8)+sum+mean), []string{"all_reduce 16 2 446.28 false"}},
		{"kubectl logs --prefix", prefixed("[pod/bench-0/main] ", ranks(now, 16, 8)+sum+mean), []string{"all_reduce 16 2 446.28 false"}},
		{"journald", prefixed("Nov 30 10:00:00 node-0 bench[4711]: ", ranks(now, 16, 8)+sum+mean), []string{"all_reduce 16 2 446.28 false"}},
		{"fields between tabs", prefixed("bench\tstep 2\t", ranks(now, 16, 8)+sum+mean), []string{"all_reduce 16 2 446.28 false"}},
		{"a host, a number and a blank", prefixed("node-0 15 ", ranks(now, 16, 8)+sum+mean), []string{"all_reduce 16 2 446.28 false"}},
		{"a release before 2.13", ranks(old, 16, 8) + "  1073741824     268435456     float     sum   4511.2  238.02  446.28  5e-07   4520.9  237.50  445.32  5e-07\n" +
			"  2147483648     536870912     float     sum    34719  247.41  463.90  1e+02*  34720  247.41  463.89  5e-07\n" + mean, []string{"all_reduce 16 2 446.28 false", "all_reduce 16 2 463.9 true"}},
		{"a group for each GPU of a node, all at once", split(func(i int) int { return i % 8 }) + "  1073741824     268435456     float     sum      -1  22369.6   48.00   48.00      0  22369.6   48.00   48.00      0\n" + mean, []string{" 2 2 48 false"}},
		{"a group for each node", "# Collective test starting: all_reduce_perf\n" + split(func(i int) int { return i / 8 }) + sum + mean, []string{"all_reduce 8 1 446.28 false"}},
		{"groups that are unlike", split(func(i int) int { return min(i/4, 2) }) + sum + mean, nil},
		{"without MPI", ranks(old, 1, 1) + ranks(old, 1, 1) + "#   Rank  0 Pid 12 on node-1 device 0 [0x00] Tesla\n  1310720000     327680000     float     sum   21.1  62118.48  0.00  0e+00 21.1  62118.48  0.00  0e+00\n" + mean, nil},
		{"one that was cut off", "+ srun all_reduce_perf -b 1G\n" + ranks(now, 16, 8) + sum + "srun: error: node-1: task 3: Killed\n+ srun all_gather_perf -b 1G\n" + ranks(now, 8, 8) +
			"  1073741824      33554432     float    none      -1   2864.2   93.72   82.00      0   2853.3   94.08   91.14      0\n" + mean, []string{"all_reduce 16 2 446.28 false", "all_gather 8 1 82 false"}},
	} {
		var got []string
		for _, x := range parse(c.text).Tables {
			for _, r := range x.Rows {
				got = append(got, fmt.Sprintf("%s %d %d %g %v", x.Collective, x.Ranks, x.Nodes, r.BusBandwidth/1e9, r.Wrong))
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestClock: times that are far from the others of a launch are none of its own, and a
// clock that is set takes no time.
func TestClock(t *testing.T) {
	const step = "[%s] iteration %d/ 9 | elapsed time per iteration (ms): 9.0 | lm loss: 1.0 |\n"
	l := parse("ndc: job 1 on a\nlibrary of 2021-03-04 05:06:07\n2026-01-01 10:00:00 begins\n2026-01-01 10:00:01 loads data of 2020\n" +
		fmt.Sprintf(step, "2026-01-01 10:00:40", 1) + "data of 2019-01-01 00:00:00 ends\n" + fmt.Sprintf(step, "2026-01-01 10:00:50", 2) +
		fmt.Sprintf(step, "2031-01-01 10:00:50", 3) + fmt.Sprintf(step, "2031-01-01 10:01:00", 4))
	x := &l.Launches[0]
	if took := x.Ended.Sub(x.Began); took != time.Minute {
		t.Errorf("the launch took %v: from %v to %v", took, x.Began, x.Ended)
	}
	if len(l.Phases) != 1 || l.Phases[0].Kind != Start || l.Phases[0].Seconds != 40 {
		t.Errorf("%+v", l.Phases)
	}
	const primus = "[20260511 02:20:%02d][rank-0/8][INFO ] [-----trainer.py:1576] : iteration %d/ 9 | elapsed time per iteration (ms): 9000.0 |\n"
	l = parse("[20260511 02:20:00][rank-0/8][INFO ] [-----trainer.py:9] : begins\nndc: job 1 on a\n" + fmt.Sprintf(primus, 14, 1) + fmt.Sprintf(primus, 23, 2))
	if took := l.Launches[0].Ended.Sub(l.Launches[0].Began); took != 9*time.Second {
		t.Errorf("of Primus: %v", took)
	}
}

// TestUnstampedSteps: steps whose lines have no time take what they say that they took,
// on top of the last time before them.
func TestUnstampedSteps(t *testing.T) {
	var b strings.Builder
	b.WriteString("ndc: job 7 on a\n[2026-01-01 10:00:00,123] [INFO] [comm.py:658:init_distributed] cdb=None\n[2026-01-01 10:01:00,123] [INFO] [engine.py:1:x] ready\n")
	for i := 1; i <= 30; i++ {
		fmt.Fprintf(&b, "0: step %d/30 loss 2.5 gradient norm 1.0 learning rate 1e-4 seconds 2.0 tokens/s/GPU 512.0\n", i)
		if i == 10 { // the checkpoint came at 80 s, and step 11 ends by its line, not 2 s later
			b.WriteString("0: [2026-01-01 10:01:21,123] [INFO] [checkpoint.py:1:save] saved\n")
		}
	}
	l := parse(b.String())
	if took := l.Launches[0].Ended.Sub(l.Launches[0].Began); took != 120*time.Second {
		t.Errorf("the launch took %v", took)
	}
	if q := l.Phases[0]; q.Kind != Start || q.Seconds != 62 {
		t.Errorf("%+v", l.Phases)
	}
}

// TestCutOff: a log that ends within a line, as one that is being written does, tells of
// the steps before it what it tells when it is whole.
func TestCutOff(t *testing.T) {
	for _, name := range []string{"megatron", "torchtitan", "deepspeed"} {
		text, err := os.ReadFile("testdata/" + name + ".log")
		if err != nil {
			t.Fatal(err)
		}
		whole := parse(string(text)).Steps
		for end := len(text) - 2; end > len(text)/2; end -= 7 {
			var p Parser
			if err := p.Read(strings.NewReader(string(text[:end]))); err != nil {
				t.Fatal(err)
			}
			steps := p.Log().Steps
			for i := range steps {
				if a, b := &steps[i], &whole[i]; a.Iteration != b.Iteration || a.Seconds != b.Seconds || a.Loss != b.Loss {
					t.Fatalf("%s up to %d: %+v, and of the whole %+v", name, end, *a, *b)
				}
			}
		}
	}
}

// TestCollected: what collects logs may put a time before every line, before or behind
// the number of a task, and a program that shows its progress a line without an end.
func TestCollected(t *testing.T) {
	const plain = "ndc: job 41 on a\n0: [titan] root - INFO - nothing\n0: step 1/9 loss 2.5 gradient norm 1.0 learning rate 1e-4 seconds 2.0 tokens/s/GPU 512.0\n" +
		"0: steps: 20 loss: 3.2500 iter time (s): 0.500 samples/sec: 200.000\nndc: srun ended with status 0\n"
	for name, change := range map[string]func(line string) string{
		"plain":    func(line string) string { return line },
		"a time":   func(line string) string { return "2026-01-01T10:00:00.123456Z " + line },
		"a zone":   func(line string) string { return "2026-01-01T10:00:00+01:00 " + line },
		"behind":   func(line string) string { return strings.Replace(line, "0: ", "0: 2026-01-01 10:00:00 ", 1) },
		"progress": func(line string) string { return strings.Replace(line, "0: ", "0:   3%|#  | 3/99 [00:01<00:09]\r", 1) },
	} {
		var b strings.Builder
		for _, line := range strings.SplitAfter(strings.TrimSuffix(plain, "\n"), "\n") {
			b.WriteString(change(line))
		}
		l := parse(b.String())
		if len(l.Steps) != 2 || l.Steps[0].Seconds != 2 || l.Steps[1].Seconds != 0.5 || len(l.Launches) != 1 || l.Launches[0].Job != "41" || l.Launches[0].Status != 0 {
			t.Errorf("%s: %+v, %+v", name, l.Launches, l.Steps)
		}
		if at := l.Launches[0].Began; at.IsZero() != (name == "plain" || name == "progress") || !at.IsZero() && at.Hour() != 10 {
			t.Errorf("%s: began %v", name, at)
		}
	}
}

// TestSurvived: what a launch goes on after did not end it.
func TestSurvived(t *testing.T) {
	step := func(first, last int) string {
		var b strings.Builder
		for i := first; i <= last; i++ {
			fmt.Fprintf(&b, "step %d/99 loss 2.5 gradient norm 1.0 learning rate 1e-4 seconds 2.0 tokens/s/GPU 512.0\n", i)
		}
		return b.String()
	}
	const failed, again = "torch.OutOfMemoryError: CUDA out of memory.\n", "node-1: NCCL WARN NET/IB : port error\n"
	for text, want := range map[string]string{
		failed + step(1, 9):                      "[]",
		step(1, 3) + failed + step(4, 4):         "[out_of_memory]",
		step(1, 3) + failed + step(4, 9) + again: "[network]",
		"ndc: job 1 on a\n" + step(1, 3) + failed + "ndc: job 2 on a\n" + step(4, 9): "[out_of_memory]",
	} {
		var kinds []string
		for _, f := range parse(text).Failures {
			kinds = append(kinds, f.Kind)
		}
		if got := fmt.Sprint(kinds); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// TestSkippedSteps: a step that the optimizer skips takes less time than others, and tells
// of none, whoever says that it was; a few of many hardly change a mean.
func TestSkippedSteps(t *testing.T) {
	const overflow = "[2026-01-05 10:00:00,000] [INFO] [loss_scaler.py:183:update_scale] [deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536, reducing to 32768\n"
	emitted := func(i int, seconds float64) string {
		return fmt.Sprintf("step %d/400 loss 2.0 gradient norm 1.0 learning rate 1e-3 seconds %.4f tokens/s/GPU 10.0\n", i, seconds)
	}
	megatron := func(i int, seconds float64, skipped int) string {
		return fmt.Sprintf(" iteration %d/400 | elapsed time per iteration (ms): %.1f | global batch size: 8 | loss scale: 1.0 | number of skipped iterations: %3d | number of nan iterations:   0 |\n", i, 1000*seconds, skipped)
	}
	texts := map[string]string{}
	for i := 1; i <= 40; i++ {
		seconds, skipped, said := 1.0, 0, ""
		if i <= 25 {
			seconds, skipped, said = 0.8, 1, overflow
		}
		texts["megatron"] += megatron(i, seconds, skipped)
		texts["deepspeed"] += said + emitted(i, seconds)
	}
	for i := 50; i <= 500; i += 50 {
		texts["megatron, a few"] += megatron(i, 1, 1)
	}
	for name, want := range map[string]int{"megatron": 15, "deepspeed": 15, "megatron, a few": 9} {
		y := parse(texts[name]).Steady(Conditions{})
		if len(y.Steps) != want || math.Abs(y.Mean-1) > 1e-9 {
			t.Errorf("%s: %d steady steps of %g s; left out: %v", name, len(y.Steps), y.Mean, y.Refused)
		}
	}
}

// TestFirstReport: the first report of a launch is the mean of as many steps as the
// interval has, which are no part of the start, or of one step that is reported alone.
func TestFirstReport(t *testing.T) {
	at := time.Date(2026, 1, 5, 10, 0, 0, 0, time.UTC)
	report := func(i int, seconds, after float64) string {
		return fmt.Sprintf(" [%s] iteration %d/400 | elapsed time per iteration (ms): %.1f | global batch size: 8 |\n", at.Add(time.Duration(after*float64(time.Second))).Format("2006-01-02 15:04:05.000000"), i, 1000*seconds)
	}
	head := "using world size: 8, data-parallel size: 8\n[after megatron is initialized] datetime: " + at.Format("2006-01-02 15:04:05") + " \n"
	for name, c := range map[string]struct {
		text  string
		over  int
		start float64
	}{
		// 60 s until training, and 30 s more for the first step than for others.
		"every ten steps":         {head + report(10, 13, 190) + report(20, 10, 290) + report(30, 10, 390), 10, 100},
		"the first step, and ten": {head + report(1, 40, 100) + report(10, 10, 190) + report(20, 10, 290), 1, 100},
		"from a checkpoint":       {head + report(210, 13, 190) + report(220, 10, 290), 10, 100},
		"every step":              {head + report(1, 40, 100) + report(2, 10, 110) + report(3, 10, 120), 1, 100},
		"one report":              {head + report(10, 13, 190), 1, 190},
	} {
		l := parse(c.text)
		if len(l.Phases) != 1 || l.Steps[0].Over != c.over || math.Abs(l.Phases[0].Seconds-c.start) > 1e-6 {
			t.Errorf("%s: over %d steps, phases %+v; want %d steps and a start of %g s", name, l.Steps[0].Over, l.Phases, c.over, c.start)
		}
	}
}

// TestTwoRates: where both an engine of DeepSpeed and the program around it tell of a step,
// its time is the program's, and the rate of one says nothing of a batch beside the time
// of the other, whoever comes first.
func TestTwoRates(t *testing.T) {
	const b, seconds = 128, 16.0
	for name, format := range map[string]string{"engine first": "%[1]s%[2]s", "program first": "%[2]s%[1]s"} {
		var text strings.Builder
		for i := 1; i <= 20; i++ {
			engine := fmt.Sprintf("[2026-01-05 10:00:00,000] [INFO] [timer.py:264:stop] epoch=0/micro_step=%d/global_step=%d, RunningAvgSamplesPerSec=8.1, CurrSamplesPerSec=%g, MemAllocated=21.3GB, MaxMemAllocated=60.12GB\n", i, i, b/(0.9*seconds))
			program := fmt.Sprintf("step %d/400 loss 2.0 gradient norm 1.0 learning rate 1e-3 seconds %.4f tokens/s/GPU %.1f\n", i, seconds, b*1024/seconds/8)
			fmt.Fprintf(&text, format, engine, program)
		}
		l := parse(text.String())
		batch := Batch{Sequences: b, Length: 1024, GPUs: 8}
		l.Fill(batch)
		y := l.Steady(Conditions{Batch: batch})
		if allocated, _ := l.Peak(); len(y.Steps) != 15 || math.Abs(y.Mean-seconds) > 1e-9 || allocated != 60.12*(1<<30) {
			t.Errorf("%s: %d steady steps of %g s, %g bytes; left out: %v", name, len(y.Steps), y.Mean, allocated, y.Refused)
		}
	}
}

// TestUnexplained: a launch that ends with a status above 0 has failed, by what it shows of why,
// before or behind that, or by nothing.
func TestUnexplained(t *testing.T) {
	const step, status = " iteration 1/ 10 | elapsed time per iteration (ms): 5.0 |\n", "ndc: srun ended with status "
	for text, want := range map[string]string{
		step + status + "0\n": "",
		step + status + "1\n": "unexplained",
		step + status + "143\nslurmstepd: error: *** STEP 5.0 ON node-1 CANCELLED AT 2026-01-05T12:00:00 DUE TO TIME LIMIT ***\n": "time_limit",
		step + "RuntimeError: CUDA error: out of memory\n" + status + "1\n":                                                       "out_of_memory",
		step + status + "1\nndc: job 2 on 1 nodes\n" + step + "RuntimeError: CUDA error: out of memory\n":                         "unexplained out_of_memory",
	} {
		var kinds []string
		for _, f := range parse(text).Failures {
			kinds = append(kinds, f.Kind)
		}
		if got := strings.Join(kinds, " "); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestCauseShowsLate: what peers, torchrun and the status say first of a launch is no cause
// where Slurm tells of a lost node or of memory afterwards, or the script of a rank.
func TestCauseShowsLate(t *testing.T) {
	const peers, torchrun, status = "ncclRemoteError: A call failed possibly due to a network error\n", "    raise ChildFailedError(\n", "ndc: srun ended with status 1\n"
	first := func(why string) string {
		return "ndc: rank 3 on n2 failed first, at 2026-01-05 12:00:00: " + why + "\n"
	}
	for text, want := range map[string]string{
		torchrun + "srun: error: Node failure on n2\n" + status:                                                          "node srun: error: Node failure on n2",
		peers + torchrun + "slurmstepd: error: Detected 1 oom_kill event in StepId=5.0.\n" + status:                      "out_of_memory slurmstepd: error: Detected 1 oom_kill event in StepId=5.0.",
		torchrun + status + first("ValueError: a shape"):                                                                 "unexplained " + strings.TrimSpace(first("ValueError: a shape")),
		peers + torchrun + status + first("ended with signal 9"):                                                         "killed " + strings.TrimSpace(first("ended with signal 9")),
		torchrun + status + first("OSError: [Errno 28] No space left on device"):                                         "storage " + strings.TrimSpace(first("OSError: [Errno 28] No space left on device")),
		peers + torchrun + status + first("ended with signal 6"):                                                         "network " + strings.TrimSpace(peers),
		"torch.OutOfMemoryError: CUDA out of memory.\n" + peers + "srun: error: Node failure on n2\n":                    "out_of_memory torch.OutOfMemoryError: CUDA out of memory.",
		"ndc: job 1 on a\n" + peers + "ndc: job 2 on a\n" + "srun: error: Node failure on n2\n":                          "network " + strings.TrimSpace(peers) + "; node srun: error: Node failure on n2",
		"slurmstepd: error: *** STEP 5.0 ON a CANCELLED AT 2026-01-05T12:00:00 DUE TO TIME LIMIT ***\n" + peers + status: "time_limit slurmstepd: error: *** STEP 5.0 ON a CANCELLED AT 2026-01-05T12:00:00 DUE TO TIME LIMIT ***",
	} {
		var got []string
		for _, f := range parse(text).Failures {
			got = append(got, f.Kind+" "+f.Text)
		}
		if got := strings.Join(got, "; "); got != want {
			t.Errorf("%q:\n%s, want\n%s", text, got, want)
		}
	}
}

// TestFailures reads lines as programs print them that end launches.
func TestFailures(t *testing.T) {
	for text, want := range map[string]string{
		"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.":                                                                                      "out_of_memory",
		"slurmstepd: error: Detected 1 oom-kill event(s) in StepId=5.0 cgroup. Some of your processes may have been killed by the cgroup out-of-memory handler.":       "out_of_memory",
		"slurmstepd: error: Detected 1 oom_kill event in StepId=5.0. Some of the step tasks have been OOM Killed.":                                                     "out_of_memory",
		"srun: error: node-1: task 0: Out Of Memory":                                                                                                                   "out_of_memory",
		"RuntimeError: CUDA error: out of memory":                                                                                                                      "out_of_memory",
		"RuntimeError: CUDA driver error: out of memory":                                                                                                               "out_of_memory",
		"RuntimeError: Triton Error [CUDA]: out of memory":                                                                                                             "out_of_memory",
		"RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`":                                                                     "out_of_memory",
		"node-1:12:34 [3] enqueue.cc:1204 NCCL WARN Cuda failure 2 'out of memory'":                                                                                    "out_of_memory",
		"RuntimeError: [enforce fail at alloc_cpu.cpp:124] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate 64 bytes.":                      "out_of_memory",
		"slurmstepd: error: *** STEP 5.0 ON node-1 CANCELLED AT 2026-01-05T12:00:00 DUE TO TIME LIMIT ***":                                                             "time_limit",
		"RuntimeError: CUDA error: no CUDA-capable device is detected":                                                                                                 "gpu",
		"RuntimeError: CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasGemmEx`":                                                                         "gpu",
		"node-1:12:34 [0] transport/net_ib.cc:1234 NCCL WARN NET/IB: Got completion from peer 10.0.0.1<1234> with status=12 opcode=0 len=0 vendor err 129 (Send) mlx5": "network",
		"srun: error: node-1: task 3: Segmentation fault (core dumped)":                                                                                                "killed",
		"Fatal Python error: Bus error":                                                       "killed",
		"RuntimeError: DataLoader worker (pid 12) is killed by signal: Killed.":               "killed",
		"srun: error: Node failure on n7":                                                     "node",
		"ndc: the run hangs and is ended":                                                     "hang",
		"OSError: [Errno 30] Read-only file system: '/checkpoints/step-100'":                  "storage",
		"OSError: [Errno 107] Transport endpoint is not connected: '/lustre/checkpoints'":     "storage",
		"OSError: [Errno 108] Cannot send after transport endpoint shutdown":                  "storage",
		"NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM, default 0 timeouts, 0 failures": "",
		"[Rank 0] (after 2 iterations) memory (MB) | allocated: 1.0 | max allocated: 2.0":     "",
	} {
		var got string
		for _, x := range parse(text).Failures {
			got = x.Kind
		}
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// TestModel: what frameworks say of the size of a model bounds it, as exactly as they say it.
func TestModel(t *testing.T) {
	const megatron = "using world size: 4, data-parallel-size: 1, tensor-model-parallel size: 2, pipeline-model-parallel size: 2 \n"
	ranks := func(numbers ...int) (all string) {
		for i, n := range numbers {
			all += fmt.Sprintf(" > number of parameters on (tensor, pipeline) model parallel rank (%d, %d): %d\n", i/2, i%2, n)
		}
		return all
	}
	const step = " iteration 1/ 10 | elapsed time per iteration (ms): 5.0 |\n"
	for text, want := range map[string]string{
		"": "0 layers, 0 to 0",
		"[titan] 2025-06-16 22:30:48,735 - root - INFO - \x1b[34mModel llama3 8B \x1b[31msize: 8,030,261,248 total parameters\x1b[39m\n":                         "0 layers, 7.95e+09 to 8.11e+09",
		megatron + "  num_layers ...................................... 32\n":                                                                                    "32 layers, 0 to 0",
		"  num_experts ... None\n" + megatron + "  num_experts ..................................... None\n" + ranks(210753280, 209445120, 210753280, 209445120): "0 layers, 4.99e+08 to 9.24e+08",
		megatron + ranks(210753280, 209445120):           "0 layers, 4.99e+08 to 1.8e+308",
		megatron + ranks(210753280):                      "0 layers, 0 to 0",
		megatron + ranks(0, 0):                           "0 layers, 0 to 0",
		"Total number of parameters in billions: 8.03\n": "0 layers, 7.22e+09 to 8.84e+09",
		megatron + ranks(2000000, 2000000):               "0 layers, 0 to 1.8e+308", // most of which may pad the vocabulary
		"Total number of parameters in billions: 0.00\n": "0 layers, 0 to 0",
		"[INFO] [partition_parameters.py:348:__exit__] finished initializing model - num_params = 339, num_elems = 1.78B\n": "0 layers, 1.18e+09 to 1.8e+09",
		"STAGE_PARAMS=10 (0.000M) TOTAL_PARAMS=2055620198 (2055.620M) UNIQUE_PARAMS=2055620198 (2055.620M)\n":               "0 layers, 1.85e+09 to 2.26e+09",
		"Total number of parameters in billions: 8.03\nTotal number of parameters in billions: 1.24\n":                      "0 layers, 0 to 1.8e+308",
	} {
		l := parse(text + step)
		m := l.Launches[0].Model
		if got := fmt.Sprintf("%d layers, %.3g to %.3g", m.Layers, m.Least, m.Most); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	l := parse("Total number of parameters in billions: 8.03\n" + step + "using world size: 4, data-parallel size: 4, context-parallel size: 1\n" + step)
	if len(l.Launches) != 2 || l.Launches[1].Model != (Model{}) {
		t.Errorf("the next launch has the model of the one before: %+v", l.Launches)
	}
}

// TestManyStages: ranks that tell of their parameters cost the same each, however many stages
// the log says that there are.
func TestManyStages(t *testing.T) {
	const stages = 100_000
	var p Parser
	p.Line(fmt.Sprintf("using world size: 8, data-parallel size: 1, tensor-model-parallel size: 1, pipeline-model-parallel size: %d", stages))
	began := time.Now()
	for range 2 {
		for i := range stages {
			p.Line(fmt.Sprintf(" > number of parameters on (tensor, pipeline) model parallel rank (0, %d): 1000", i))
		}
	}
	if took := time.Since(began); took > 20*time.Second || p.model.Parameters != 1000*stages {
		t.Errorf("%v, %g parameters", took, p.model.Parameters)
	}
}

// TestManyGroups: rows of a table cost the same each, however many groups of ranks it has.
func TestManyGroups(t *testing.T) {
	const groups = 60_000
	var p Parser
	p.Line("# nThread 1 nGpus 1 minBytes 8")
	began := time.Now()
	for i := range 2 * groups {
		p.Line(fmt.Sprintf("#  Rank %2d Group %2d Pid 7 on h%d device  0", i, i/2, i/2))
	}
	for i := range groups {
		p.Line("  1073741824     268435456     float     sum      -1    86786   12.37   12.37      0    86676   12.39   12.39      0")
		p.Line(fmt.Sprintf("#  Rank %2d Group %2d Pid 7 on h%d device  0", i, i/2, i/2))
	}
	if took, tables := time.Since(began), p.Log().Tables; took > 20*time.Second || len(tables) != 1 || tables[0].Ranks != 2 || len(tables[0].Rows) != groups {
		t.Errorf("%v, %d tables", took, len(tables))
	}
}

// TestForks: a step of BigScience's fork is in seconds, and memory of Megatron-Bridge in
// gigabytes.
func TestForks(t *testing.T) {
	l := parse("[default7]: iteration    94768/  115311 | consumed samples:    177927088 | elapsed time per iteration (s): 215.82 | global batch size:  2048 | lm loss: 1.943883E+00 | number of skipped iterations:   0 | samples per second: 9.490 | TFLOPs: 145.31 |\n" +
		"[Rank 0] (after 94768 iterations) memory (GB) | mem-allocated-gigabytes: 51.072 | mem-max-allocated-gigabytes: 70.41 | mem-max-reserved-gigabytes: 72.5 | mem-alloc-retires: 0\n")
	s := l.Last()
	if s == nil || s.Seconds != 215.82 || s.Sequences != 2048 || s.TFLOPS != 145.31 || s.Allocated != 70.41e9 || s.Reserved != 72.5e9 {
		t.Errorf("%+v", s)
	}
}

// TestDegrees: what the frameworks say of a launch's layout before its steps; a launch that
// says nothing has none of the one before it.
func TestDegrees(t *testing.T) {
	const (
		dots   = " ............................... "
		step   = " iteration %d/ 40 | elapsed time per iteration (ms): 100.0 | global batch size: 8 |\n"
		titan  = "[rank0]:[titan] 2026-05-19 20:23:51,449 - root - INFO - step: %2d  loss:  2.0  grad_norm:  1.0  memory: 16.50GiB(91.78%%)  tps: 2,000  tflops: 1,155.79  mfu: 6.92%%\n"
		mesh   = "[rank0]:[titan] 2026-05-19 20:23:25,846 - root - INFO - Building device mesh with parallelism: pp=2, dp_replicate=3, dp_shard=4, cp=5, tp=6"
		world  = "using world size: 48, data-parallel size: 2, context-parallel size: 3, hierarchical context-parallel sizes: None, tensor-model-parallel size: 4, pipeline-model-parallel size: 2\n"
		before = "using world size: 48, data-parallel size: 2, context-parallel size: 3, tensor-model-parallel size: 4, encoder-tensor-model-parallel size: 0, pipeline-model-parallel size: 2, encoder-pipeline-model-parallel size: 0\n"
		told   = "  eval_micro_batch_size" + dots + "7\n  expert_model_parallel_size" + dots + "8\n  micro_batch_size" + dots + "5\n"
	)
	for name, c := range map[string]struct {
		text string
		want []Degrees
	}{
		"megatron":        {world + told + fmt.Sprintf(step, 1), []Degrees{{Tensor: 4, Context: 3, Pipeline: 2, Expert: 8, MicroBatch: 5}}},
		"Open MPI 5":      {prefixed("[prterun-a-1@1,0]<stdout>: ", world+told+fmt.Sprintf(step, 1)), []Degrees{{Tensor: 4, Context: 3, Pipeline: 2, Expert: 8, MicroBatch: 5}}},
		"megatron, 0.12":  {before + fmt.Sprintf(step, 1), []Degrees{{Tensor: 4, Context: 3, Pipeline: 2}}},
		"two launches":    {world + fmt.Sprintf(step, 4) + fmt.Sprintf(step, 2), []Degrees{{Tensor: 4, Context: 3, Pipeline: 2}, {}}},
		"torchtitan":      {mesh + ", ep=2\n" + fmt.Sprintf(titan, 1), []Degrees{{Pipeline: 2, Replicate: 3, Shard: 4, Context: 5, Tensor: 6, Expert: 2}}},
		"torchtitan, 0.1": {mesh + "\n" + fmt.Sprintf(titan, 1), []Degrees{{Pipeline: 2, Replicate: 3, Shard: 4, Context: 5, Tensor: 6}}},
	} {
		var got []Degrees
		for _, x := range parse(c.text).Launches {
			got = append(got, x.Degrees)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// prefixed is a text with something in front of its lines.
func prefixed(prefix, text string) string {
	return prefix + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n"+prefix) + "\n"
}

// TestSaves: a run waits for a checkpoint while it is written, or while it is copied to
// where another process writes it from, in the words of each release.
func TestSaves(t *testing.T) {
	const head = "[rank0]:[titan] 2026-05-19 20:23:51,449 - root - INFO - "
	for _, said := range []string{
		"Finished saving the checkpoint (or staging if async is enabled)in 4.20 seconds.",
		"Finished saving the checkpoint in 4.20 seconds.",
		"Finished staging the checkpoint in 4.20 seconds.",
		"Last step checkpoint completed in 4.20s",
	} {
		if p := parse(head + said).Phases; len(p) != 1 || p[0].Kind != Save || p[0].Seconds != 4.2 {
			t.Errorf("%s: %+v", said, p)
		}
	}
}

// TestTimersOfHosts: what collects the lines of hosts, containers or pods names them in front,
// and between the lines of a rank those of others may stand.
func TestTimersOfHosts(t *testing.T) {
	const text = "(min, max) time across ranks (ms):\n    load-checkpoint ................................: (0.37, 1170.00)\n" +
		" iteration        1/ 40 | elapsed time per iteration (ms): 100.0 |\n(min, max) time across ranks (ms):\n    save-checkpoint ................................: (120.00, 121.00)\n"
	for _, prefix := range []string{"", "node-1: ", "[pod/train-0/megatron] ", "worker-0  | ", "2026-01-01T10:00:00.1Z stdout F ", "(Worker pid=12) ", "[default0]:", "3: [rank3]:", "[1,0]<stdout>:", "train\tstep 2\t", " 10%|#  | 1/10\r"} {
		l := parse(prefixed(prefix, text))
		if len(l.Phases) != 2 || l.Phases[0].Kind != Load || l.Phases[1] != (Phase{Kind: Save, Iteration: 1, Seconds: 0.121}) {
			t.Errorf("%q: %+v", prefix, l.Phases)
		}
	}
	spoken := strings.ReplaceAll(prefixed("7: ", text), "ranks (ms):\n", "ranks (ms):\n0:   successfully saved checkpoint from iteration 1 to /c\n")
	if l := parse(spoken); len(l.Phases) != 2 {
		t.Errorf("while another rank speaks: %+v", l.Phases)
	}
}

// TestTimersOfAllRanks: with --timing-log-option all every rank has a line, of which the slowest counts.
func TestTimersOfAllRanks(t *testing.T) {
	const step, all = " iteration        1/ 40 | elapsed time per iteration (ms): 100.0 |\n", "times across ranks (ms):\n"
	const text = all + "  train/valid/test-data-iterators-setup:\n     rank  0: 120.00\n  load-checkpoint:\n     rank  0: 0.37\n     rank  1: 1170.00\n" + step +
		all + "  forward-backward:\n     rank  0: 80.10\n     rank  1: 81.00\n     rank 10: 79.00\n  optimizer:\n     rank  0: 8.00\n" +
		all + "  save-checkpoint:\n     rank  0: 121.00\n     rank  1: 120.00\n"
	for _, prefix := range []string{"", "node-1: ", "[default0]:", "3: [rank3]:"} {
		l := parse(prefixed(prefix, text))
		if len(l.Phases) != 2 || l.Phases[0] != (Phase{Kind: Load, Seconds: 1.17}) || l.Phases[1] != (Phase{Kind: Save, Iteration: 1, Seconds: 0.121}) {
			t.Errorf("%q: %+v", prefix, l.Phases)
		}
		if len(l.Timers) != 2 || l.Timers[0].Name != "forward-backward" || l.Timers[0].Seconds != 0.081 || l.Timers[1].Name != "optimizer" || l.Timers[1].Seconds != 0.008 {
			t.Errorf("%q: %+v", prefix, l.Timers)
		}
	}
}

// TestAsPrinted: lines as public logs have them.
func TestAsPrinted(t *testing.T) {
	const step = " iteration 1/ 10 | elapsed time per iteration (ms): 5.0 |\n"
	for text, want := range map[string]string{
		// Megatron-LM before core_v0.13 forgets a comma.
		"using world size: 8, data-parallel size: 1, context-parallel size: 1, hierarchical context-parallel sizes: Nonetensor-model-parallel size: 4, encoder-tensor-model-parallel size: 0, pipeline-model-parallel size: 2, encoder-pipeline-model-parallel size: 0\n" + step: "8 GPUs, {4 1 2 0 0 0 0}, batch of 0 x 0, 0.00 GiB",
		// Primus logs what Megatron-LM prints.
		"[\x1b[32m20260511 02:20:14\x1b[0m][\x1b[36mrank-0/8\x1b[0m]\x1b[34m\x1b[1m[DEBUG]    \x1b[0m\x1b[34m\x1b[1m[-----------------------arguments.py:1576] :   seq_length ...................................... 8192\x1b[0m\n" +
			"[20260511 02:20:14][rank-0/8][DEBUG]    [-----------------------arguments.py:1576] :   decoder_seq_length .............................. 4096\n" +
			"[20260511 02:20:14][rank-0/8][DEBUG]    [-----------------------arguments.py:1576] :   expert_model_parallel_size ...................... 2\n" + step: "0 GPUs, {0 0 0 2 0 0 0}, batch of 0 x 8192, 0.00 GiB",
		// Two ranks on one line.
		"[Rank 9] (after 1 iterations) memory (MB) | allocated: 36891.15 | max allocated: 44566.31 | reserved: 44816.00 | max reserved: 45056.00[Rank 8] (after 1 iterations) memory (MB) | allocated: 36891.15 | max allocated: 44500.31 | reserved: 44816.00 | max reserved: 44800.00\n" + step: "0 GPUs, {0 0 0 0 0 0 0}, batch of 0 x 0, 44.00 GiB",
		// A step and the memory of another rank.
		" iteration 1/ 10 | elapsed time per iteration (ms): 5.0 | number of nan iterations:   0 |[Rank 0] (after 1 iterations) memory (MB) | allocated: 36891.15 | max allocated: 44566.31 | reserved: 44816.00 | max reserved: 45056.00\n\n": "0 GPUs, {0 0 0 0 0 0 0}, batch of 0 x 0, 44.00 GiB",
		"[Rank 0] (after 1 iterations) memory (MB) | allocated: 36891.15 | max allocated: 44566.31 | reserved: 44816.00 | max reserved: 45056.00" + step + "\n":                                                                                "0 GPUs, {0 0 0 0 0 0 0}, batch of 0 x 0, 44.00 GiB",
		// Docker keeps lines as records.
		`{"log":"[Rank 0] (after 1 iterations) memory (MB) | allocated: 36891.15 | max allocated: 44566.31 | reserved: 44816.00 | max reserved: 45056.00\n","stream":"stdout","time":"2026-11-30T10:00:00.1Z"}` + "\n" +
			`{"log":" iteration 1/ 10 | elapsed time per iteration (ms): 5.0 |\r\n","stream":"stdout","time":"2026-11-30T10:00:01.1Z"}` + "\n": "0 GPUs, {0 0 0 0 0 0 0}, batch of 0 x 0, 44.00 GiB",
		// So does Filebeat, and what Google Cloud collects; Ray names its actors.
		`{"@timestamp":"2026-11-30T10:00:00.100Z","log":{"offset":1,"file":{"path":"/logs/a.log"}},"message":"[Rank 0] (after 1 iterations) memory (MB) | max allocated: 44566.31 | max reserved: 45056.00"}` + "\n" +
			`{"insertId":"a","textPayload":" iteration 1/ 10 | elapsed time per iteration (ms): 5.0 |","timestamp":"2026-11-30T10:00:01Z"}` + "\n": "0 GPUs, {0 0 0 0 0 0 0}, batch of 0 x 0, 44.00 GiB",
		// Fluentd puts a time and a name before the record, kubectl --prefix a pod.
		"2026-11-30T10:00:00+00:00\tapp.log\t" + `{"log":"[Rank 0] (after 1 iterations) memory (MB) | max allocated: 44566.31 | max reserved: 44032.00"}` + "\n" +
			`[pod/a/b] {"level":"info","message":" iteration 1/ 10 | elapsed time per iteration (ms): 5.0 |"}` + "\n": "0 GPUs, {0 0 0 0 0 0 0}, batch of 0 x 0, 43.00 GiB",
		// Google Cloud keeps the record of a program as its payload, Elasticsearch as the source of a document.
		`{"insertId":"a","jsonPayload":{"stream":"stdout","log":"[Rank 0] (after 1 iterations) memory (MB) | max allocated: 44566.31 | max reserved: 44032.00\n"}}` + "\n" +
			`{"_index":"logs","_source":{"@timestamp":"2026-11-30T10:00:01Z","message":" iteration 1/ 10 | elapsed time per iteration (ms): 5.0 |"}}` + "\n": "0 GPUs, {0 0 0 0 0 0 0}, batch of 0 x 0, 43.00 GiB",
		"(Worker pid=12)   seq_length ...................................... 4096\nworker-1  |   micro_batch_size ................................ 2\n" + step: "0 GPUs, {0 0 0 0 0 0 2}, batch of 0 x 4096, 0.00 GiB",
		"train\tstep 2\t  seq_length ...................................... 4096\n" + step:                                                                     "0 GPUs, {0 0 0 0 0 0 0}, batch of 0 x 4096, 0.00 GiB",
		// Loki's records, as its logcli prints them.
		`{"labels":{"job":"a"},"line":"[Rank 0] (after 1 iterations) memory (MB) | allocated: 36891.15 | max allocated: 44566.31 | reserved: 44816.00 | max reserved: 44032.00","timestamp":"2026-11-30T10:00:00Z"}` + "\n" +
			`{"labels":{"job":"a"},"line":" iteration 1/ 10 | elapsed time per iteration (ms): 5.0 |","timestamp":"2026-11-30T10:00:01Z"}` + "\n": "0 GPUs, {0 0 0 0 0 0 0}, batch of 0 x 0, 43.00 GiB",
		// journald gives the bytes of a line with colours.
		`{"_PID":"7","MESSAGE":` + strings.ReplaceAll(fmt.Sprint([]byte("\x1b[31mstep:  1  loss: 12.25  grad_norm: 2.5  memory: 23.50GiB(29.63%)  tps: 512  tflops: 2.70  mfu: 0.27%\x1b[39m")), " ", ",") + "}\n": "0 GPUs, {0 0 0 0 0 0 0}, batch of 0 x 0, 23.50 GiB",
		// TorchTitan of 2024 and 2025.
		"[rank0]:2025-02-13 11:33:12,140 - root - INFO - Building 2-D device mesh with ['dp_shard', 'tp'], [4, 2]\n[rank0]:2025-02-13 11:33:29,482 - root - INFO - Training starts at step 1, with local batch size 1, global batch size 8, sequence length 8192, total steps 1000 (warmup 200)\n" +
			"[rank0]:2024-12-13 17:29:23,398 - root - INFO - step: 30  loss:  1.7148  memory: 14.91GiB(18.82%)  wps: 48,655  mfu: 13.87%\n": "8 GPUs, {2 1 1 0 1 4 0}, batch of 8 x 8192, 14.91 GiB",
		"[titan] 2025-11-25 19:44:55,287 - root - INFO - Building 2-D device mesh with ['dp_shard_mod_ep', 'dp_shard_in_ep'], [2, 2]\n[titan] 2025-11-25 19:45:01,441 - root - INFO - step:  1  loss:  8.0277  grad_norm:  1.4604  memory:  1.21GiB(0.86%)  tps: 5,756  tflops: 0.41  mfu: 0.04%\n": "4 GPUs, {0 0 0 0 0 0 0}, batch of 0 x 0, 1.21 GiB",
	} {
		l := parse(text)
		x := &l.Launches[0]
		_, reserved := l.Peak()
		if got := fmt.Sprintf("%d GPUs, %v, batch of %d x %d, %.2f GiB", x.GPUs, x.Degrees, x.Sequences, x.Length, reserved/(1<<30)); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}
