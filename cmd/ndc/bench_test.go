//go:build unix

package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// BenchmarkBuild builds every example, from the text of the job to the files
// on disk. docs/speed.md has the figures.
func BenchmarkBuild(b *testing.B) {
	jobs, err := filepath.Glob("../../examples/*/job.hcl")
	if err != nil || len(jobs) == 0 {
		b.Fatal("no examples: ", err)
	}
	for _, job := range jobs {
		b.Run(filepath.Base(filepath.Dir(job)), func(b *testing.B) { benchmarkCommand(b, "build", job, "-o", b.TempDir()) })
	}
}

// openJob leaves every axis open.
const openJob = `
model "m" {
  base = catalog.model.%s
}
cluster "c" {
  base  = catalog.cluster.dgx_h100
  nodes = %d
}
job "open" {
  model   = model.m
  cluster = cluster.c
  training {
    global_batch_size = %d
    steps             = 1000
    optimizer "adamw" {
      learning_rate = 1e-4
    }
    data {
      format = "megatron"
      source "text" {
        path = "/data/text_document"
      }
      tokenizer "huggingface" {
        path = "/data/tokenizer"
      }
    }
  }
  constraints {
    objective = %q
  }
  backend %q {
    version = %q
    path    = %s
  }
}
`

// BenchmarkPlan plans large jobs that leave every axis open.
func BenchmarkPlan(b *testing.B) {
	versions := []struct{ kind, version, path string }{
		{"megatron", "core_v0.19.2", `"/opt/megatron-lm"`}, {"torchtitan", "0.3.0", "null"}, {"deepspeed", "0.19.8", "null"},
	}
	for _, c := range []struct {
		model        string
		nodes, batch int
		objective    string
		backends     int
	}{
		{"deepseek_v3", 256, 15360, "throughput", 1},
		{"llama3_1_405b", 2048, 2048, "throughput", 3},
		{"qwen3_235b_a22b", 512, 4096, "throughput", 3},
		{"deepseek_v3", 256, 15360, "memory", 1},
		{"llama3_8b", 64, 2048, "memory", 3},
	} {
		for _, v := range versions[:c.backends] {
			b.Run(fmt.Sprintf("%s-%d-%s-%s", c.model, 8*c.nodes, c.objective, v.kind), func(b *testing.B) {
				file := filepath.Join(b.TempDir(), "job.hcl")
				text := fmt.Sprintf(openJob, c.model, c.nodes, c.batch, c.objective, v.kind, v.version, v.path)
				if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
					b.Fatal(err)
				}
				benchmarkCommand(b, "plan", file)
			})
		}
	}
}

// BenchmarkDeep plans a model of a thousand small layers, whose pipelines have
// hundreds of chunks and few micro-batches.
func BenchmarkDeep(b *testing.B) {
	file := filepath.Join(b.TempDir(), "job.hcl")
	text := fmt.Sprintf(openJob, "debug\n  layers = 1000", 32, 2048, "throughput", "torchtitan", "0.3.0", "null")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		b.Fatal(err)
	}
	benchmarkCommand(b, "plan", file)
}

// BenchmarkSize compares twenty sizes of a run that leaves every axis open.
func BenchmarkSize(b *testing.B) {
	file := filepath.Join(b.TempDir(), "job.hcl")
	text := fmt.Sprintf(openJob, "llama3_70b", 160, 1024, "throughput", "megatron", "core_v0.19.2", `"/opt/megatron-lm"`)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		b.Fatal(err)
	}
	benchmarkCommand(b, "size", file, "--nodes", "{ min = 8, max = 160, step = 8 }")
}

// benchmarkCommand runs the command again and again. Beside the time that
// passes it reports that of the processors, which others on the machine change
// less.
func benchmarkCommand(b *testing.B, arguments ...string) {
	b.ReportAllocs()
	before := processorTime(b)
	for b.Loop() {
		if code := run(arguments, io.Discard, io.Discard); code == exitInput {
			b.Fatal("exit code ", code)
		}
	}
	b.ReportMetric(float64((processorTime(b)-before).Microseconds())/1e3/float64(b.N), "cpu-ms/op")
}

func processorTime(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
