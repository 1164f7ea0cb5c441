package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/compiler/plan/file"
)

// TestWatchDigits: what watch prints as JSON has the digits that plan.json has, and no
// loss where none was printed.
func TestWatchDigits(t *testing.T) {
	plan := filepath.Join("..", "..", "examples", "llama3-8b", "out", "llama3-8b", "deepspeed", planName)
	f, err := readPlan(plan)
	if err != nil {
		t.Fatal(err)
	}
	for _, printed := range []string{"loss 2.1234567890123", "loss nan"} {
		var text strings.Builder
		for i := 1; i <= 60; i++ {
			fmt.Fprintf(&text, "2026-01-01 10:%02d:00,000 step %d/60 validation loss 2.5\n", i%60, i)
			seconds := float64(f.Time.StepSeconds) * (1.7 + 0.01*float64(i%7))
			fmt.Fprintf(&text, "step %d/60 %s gradient norm 1.0 learning rate 1e-4 seconds %.9f tokens/s/GPU %.1f\n", i, printed, seconds, float64(f.Input.GlobalBatchSize*f.Input.SequenceLength/f.Input.GPUs)/seconds)
		}
		log := filepath.Join(t.TempDir(), "x.log")
		if err := os.WriteFile(log, []byte(text.String()), 0o666); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if code := run([]string{"watch", "--once", "--json", "--plan", plan, log}, &out, &out); code != exitInput {
			t.Fatalf("exit code %d\n%s", code, out.String())
		}
		for _, number := range numbers(t, out.String()) {
			if strings.ContainsAny(number, ".e") && significant(number) > 9 {
				t.Errorf("%s has more than nine digits", number)
			}
		}
		if got, want := strings.Contains(out.String(), `"loss": 2.12345679`), printed != "loss nan"; got != want || strings.Contains(out.String(), `"loss"`) != want || !strings.Contains(out.String(), `"explain"`) {
			t.Errorf("of %s:\n%s", printed, out.String())
		}
	}
}

// TestEarlierBuild: the log of a run counts by the plan that the run began with, of
// which it keeps a copy; by a plan that was built since it does not.
func TestEarlierBuild(t *testing.T) {
	s := newSite(t, "megatron", "[]")
	plan := filepath.Join(s.out, planName)
	before, err := readPlan(plan)
	if err != nil {
		t.Fatal(err)
	}
	var ranks strings.Builder
	ranks.WriteString("echo 'using world size: 1, data-parallel size: 1, tensor-model-parallel size: 1'\n")
	for i := 1; i <= 12; i++ {
		fmt.Fprintf(&ranks, "echo ' iteration %d/ 2000 | elapsed time per iteration (ms): %.3f | lm loss: 2.5 |'\n", i, 1001*float64(before.Time.StepSeconds))
	}
	s.write(t, "ranks", ranks.String())
	s.submit(t)
	s.trains(t, 100, nil)
	said := func(code int, args ...string) string {
		t.Helper()
		var out bytes.Buffer
		if got := run(args, &out, &out); got != code {
			t.Fatalf("ndc %v: exit code %d, want %d\n%s", args, got, code, out.String())
		}
		return strings.Join(strings.Fields(out.String()), " ")
	}
	made := filepath.Join(s.folder, "x.ndccal.json")
	calibrated := func(code int, args ...string) string {
		t.Helper()
		return said(code, append([]string{"calibrate", "-o", made, "--force"}, args...)...)
	}
	mustHold(t, "of its own plan", said(exitOK, "watch", "--once", s.out), "12 of 2000", "Verdict as predicted")
	mustHold(t, "of its own plan", calibrated(exitOK, s.out), "in 7 reports", "(+0.1 %)")

	s.write(t, "job.hcl", strings.Replace(s.read("job.hcl"), "global_batch_size = 32", "global_batch_size = 64", 1))
	s.build(t)
	kept := filepath.Join(s.out, "runs", "100")
	mustHold(t, "of the copy", said(exitOK, "watch", "--once", s.out), "Verdict as predicted", filepath.Join("runs", "100", planName)+", which the run began with")
	mustHold(t, "of the copy", calibrated(exitOK, s.out), "in 7 reports", "(+0.1 %)")
	if text := s.read("x.ndccal.json"); !strings.Contains(text, "runs/100/plan.json") {
		t.Errorf("the sources are those of\n%s", text)
	}

	// The plan that is named is meant, and a run whose copy is gone has none.
	log := filepath.Join(s.out, "logs", "train_me-100.log")
	const another = "the log is of another build than the plan: configuration "
	mustHold(t, "of the plan that is named", said(exitInput, "watch", "--once", "--plan", plan, log), "Verdict none: "+another)
	mustHold(t, "of the plan that is named", calibrated(exitInput, "--plan", plan, log), another)
	if err := os.RemoveAll(kept); err != nil {
		t.Fatal(err)
	}
	mustHold(t, "of no plan", said(exitInput, "watch", "--once", s.out), "Verdict none: "+another)
	mustHold(t, "of no plan", calibrated(exitInput, s.out), "none of the runs can be used: train on megatron: "+another)

	// Where the script says nothing, the framework does.
	s.write(t, "plain.log", strings.NewReplacer("ndc: link", "link", "world size: 1,", "world size: 8,").Replace(s.read("out/train/megatron/logs/train_me-100.log")))
	plain := filepath.Join(s.folder, "plain.log")
	mustHold(t, "of more GPUs", calibrated(exitInput, "--plan", plan, plain), "the log is of a run on 8 GPUs, and the plan for 1")
	s.write(t, "other.log", strings.Replace(s.read("plain.log"), "using world size: 8,", "  seq_length ...................................... 1024\nusing world size: 1,", 1))
	mustHold(t, "of longer sequences", calibrated(exitInput, "--plan", plan, filepath.Join(s.folder, "other.log")), "the log is of sequences of 1024 tokens, and the plan of 512")
	s.write(t, "other.log", strings.NewReplacer("using world size: 8,", "using world size: 1,", "| lm loss", "| global batch size: 32 | lm loss").Replace(s.read("plain.log")))
	mustHold(t, "of another batch", calibrated(exitInput, "--plan", plan, filepath.Join(s.folder, "other.log")), "0 reports of steady steps, and 3 are needed; left out, 7 reports: a batch of other than 64 sequences")
	var f file.File
	if err := json.Unmarshal([]byte(s.read("out/train/megatron/plan.json")), &f); err != nil {
		t.Fatal(err)
	}
	f.Backend = "torchtitan"
	s.write(t, "titan.json", string(mustJSON(f)))
	mustHold(t, "of another framework", said(exitInput, "watch", "--once", plain, "--plan", filepath.Join(s.folder, "titan.json"), "--json"),
		`"contradiction": "the log is of megatron, and the plan for torchtitan"`)
}

// TestEarlierCopies: a log of which a folder has an earlier copy, which ends before it does,
// counts once, whichever is found first.
func TestEarlierCopies(t *testing.T) {
	folder := t.TempDir()
	log := "ndc: job 1 on 2 nodes, 2026-01-01 10:00:00, in /somewhere/that/is/long/enough\n" + strings.Repeat("step\n", 4000)
	files := map[string]string{
		"a/plan.json": "one", "b/plan.json": "one", "c/plan.json": "two",
		"a/logs/1.log": log[:len(log)-7000], "a/logs/2.log": "another " + log, "b/logs/1.log": log, "b/logs/1.copy.log": log[:200] + "x" + log[201:9000], "b/logs/2.log": "short", "c/logs/1.log": log[:9000],
	}
	r := &foundRuns{logs: map[string][]string{}, known: map[string]string{}}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(files[name]), 0o666); err != nil {
			t.Fatal(err)
		}
		if plan := filepath.Join(folder, name[:1], planName); path == plan {
			r.plans = append(r.plans, plan)
		} else {
			r.logs[plan] = append(r.logs[plan], path)
		}
	}
	h, err := r.hashed()
	if err != nil {
		t.Fatal(err)
	}
	var copied []string
	for _, plan := range r.plans {
		for _, l := range h.logs[plan] {
			if name, _ := filepath.Rel(folder, l.name); l.copied {
				copied = append(copied, filepath.ToSlash(name))
			}
		}
	}
	if !slices.Equal(copied, []string{"a/logs/1.log"}) {
		t.Errorf("copies: %v", copied)
	}
}

// TestLogsOfNoText: a log that is compressed or in UTF-16 is an error that says so, and no
// log of no steps; below a folder one that got another ending is not passed over in silence.
func TestLogsOfNoText(t *testing.T) {
	plan := filepath.Join("..", "..", "examples", "llama3-8b", "out", "llama3-8b", "deepspeed", planName)
	text, err := os.ReadFile(plan)
	if err != nil {
		t.Fatal(err)
	}
	for head, want := range map[string]string{
		"\x1f\x8b\x08\x00": "it is compressed; unpack it with gunzip", "\x28\xb5\x2f\xfd": "it is compressed; unpack it with unzstd",
		"\xfd7zXZ\x00": "it is compressed; unpack it with unxz", "\xff\xfes\x00": "it is in UTF-16",
	} {
		folder := t.TempDir()
		log := filepath.Join(folder, "x.log")
		if err := os.WriteFile(log, []byte(head+"step 1/60\n"), 0o666); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"watch", "--once"}, {"calibrate", "-o", log + calibrationSuffix}} {
			var out bytes.Buffer
			if code := run(append(args, "--plan", plan, log), &out, &out); code == exitOK || !strings.Contains(strings.Join(strings.Fields(out.String()), " "), want) {
				t.Errorf("%v: exit code %d\n%s", args, code, out.String())
			}
		}
		if err := errors.Join(os.Rename(log, log+".old"), os.WriteFile(filepath.Join(folder, planName), text, 0o666), os.WriteFile(filepath.Join(folder, "y.log"), []byte("step 1/60\n"), 0o666)); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if code := run([]string{"calibrate", "-o", log + calibrationSuffix, folder}, &out, &out); code == exitOK || !strings.Contains(strings.Join(strings.Fields(out.String()), " "), "x.log.old cannot be read: "+want) {
			t.Errorf("calibrate: exit code %d\n%s", code, out.String())
		}
		out.Reset()
		if run([]string{"watch", "--once", folder}, &out, &out); !strings.Contains(strings.Join(strings.Fields(out.String()), " "), "x.log.old cannot be read: "+want) {
			t.Errorf("watch:\n%s", out.String())
		}
	}
}

// TestMeasuredPlan: a plan that ran says what its own runs took, on every backend, as
// long as it is that plan.
func TestMeasuredPlan(t *testing.T) {
	job, err := os.ReadFile(filepath.Join("..", "..", "examples", "llama3-8b", "job.hcl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, backend := range []string{"megatron", "torchtitan", "deepspeed"} {
		t.Run(backend, func(t *testing.T) {
			folder := t.TempDir()
			file, made := filepath.Join(folder, "job.hcl"), filepath.Join(folder, "node"+calibrationSuffix)
			write := func(name, text string) {
				if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			said := func(args ...string) string {
				var out bytes.Buffer
				if code := run(args, &out, &out); code != exitOK {
					t.Fatalf("ndc %v: exit code %d\n%s", args, code, out.String())
				}
				return strings.Join(strings.Fields(out.String()), " ")
			}
			write(file, string(job))
			said("build", file, "--backend", backend)
			place := filepath.Join(folder, "out", "llama3-8b", backend, planName)
			f, err := readPlan(place)
			if err != nil {
				t.Fatal(err)
			}
			var text strings.Builder
			seconds := 1.5 * float64(f.Time.StepSeconds)
			tokens := float64(f.Input.GlobalBatchSize*f.Input.SequenceLength/f.Input.GPUs) / seconds
			for i := 1; i <= 20; i++ {
				switch backend {
				case "megatron":
					fmt.Fprintf(&text, " iteration %d/ 2000 | elapsed time per iteration (ms): %.3f | lm loss: 2.5 |\n", i, 1000*seconds)
				case "torchtitan":
					fmt.Fprintf(&text, "[rank0]:[titan] 2026-05-19 20:23:51,449 - root - INFO - step: %2d  loss:  2.5  grad_norm:  1.0  memory: -1.00GiB(0.00%%)  tps: %.3f\n", i, tokens)
				default:
					fmt.Fprintf(&text, "step %d/2000 loss 2.5 gradient norm 1.0 learning rate 1e-4 seconds %.9f tokens/s/GPU %.1f\n", i, seconds, tokens)
				}
			}
			log := filepath.Join(folder, "x.log")
			write(log, text.String())
			said("calibrate", log, "--plan", place, "-o", made)
			write(file, strings.Replace(string(job), "  nodes = 1\n", "  nodes = 1\n  calibration = \"node"+calibrationSuffix+"\"\n", 1))
			const own = "1 run of this very plan: step "
			mustHold(t, "the plan that ran", said("plan", file, "--backend", backend), own)
			mustHold(t, "the plan that ran", said("plan", file, "--backend", backend, "--json"), `"measured_step_seconds": `, `"runs": 1`)
			write(file, strings.Replace(strings.Replace(string(job), "  nodes = 1\n", "  nodes = 1\n  calibration = \"node"+calibrationSuffix+"\"\n", 1), "global_batch_size = 128", "global_batch_size = 256", 1))
			if got := said("plan", file, "--backend", backend); strings.Contains(got, own) {
				t.Errorf("another batch:\n%s", got)
			}
		})
	}
}

// TestUnreadBelow: of a folder with one below that somebody else keeps closed, that one is named.
func TestUnreadBelow(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{&fs.PathError{Op: "open", Path: "runs/private/", Err: fs.ErrPermission}, "runs/private cannot be read: permission denied"},
		{fs.ErrPermission, "runs cannot be read: permission denied"},
	} {
		if got := unreadBelow("runs", c.err).Error(); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}
