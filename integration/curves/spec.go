package curves

import (
	"fmt"
	"strings"
)

// Framework is one of the three, at the release whose curve is drawn.
type Framework struct {
	Kind    string // the backend block of the job
	Name    string
	Version string
}

// Frameworks are the newest releases of the three.
var Frameworks = []Framework{
	{"megatron", "Megatron-LM", "core_v0.19.2"},
	{"torchtitan", "TorchTitan", "0.3.0"},
	{"deepspeed", "DeepSpeed", "0.19.8"},
}

// Steps is how long the spec trains on a CPU.
const Steps = 30

// Vocabulary is that of the example's model, Sequence what is left of its
// sequences.
const Vocabulary, Sequence = 2048, 128

// changes make examples/tiny/job.hcl trainable on a CPU in a minute. All are
// sizes and kernels but the data, which is mock in the example; mock data
// differ between the frameworks.
func changes(data string) [][2]string {
	return [][2]string{
		{"sequence_length = 512", fmt.Sprintf("sequence_length = %d", Sequence)},
		{"global_batch_size = 32", "global_batch_size = 8"},
		{"steps             = 2000", fmt.Sprintf("steps             = %d", Steps)},
		{`precision         = "bf16"`, `precision         = "fp32"`},
		{"warmup_steps          = 100", "warmup_steps          = 5"},
		{"mock = true", fmt.Sprintf("format = \"megatron\"\n      workers = 0\n      source \"text\" {\n        path = %q\n      }\n      tokenizer \"none\" {}", data)},
		{"    checkpoint {\n      path     = \"/tmp/tiny\"\n      interval = 1000\n    }\n", ""},
		{"interval = 10\n", "interval = 1\n"},
		{`version = "core_v0.16.1"`, `version = "core_v0.19.2"`},
		{`version = "0.2.2"`, "version = \"0.3.0\"\n    execution {\n      compile = false\n    }"},
		{`version = "0.16.4"`, "version = \"0.19.8\"\n    extra_args = [\"optimizer.params.torch_adam=true\"]"},
		{`  backend "megatron" {`, "  constraints {\n    layout {\n      micro_batch_size = 4\n    }\n  }\n  backend \"megatron\" {"},
	}
}

// Spec is the example, changed for a CPU and for tokens at data, a prefix of
// .bin and .idx files.
func Spec(example []byte, data string) ([]byte, error) {
	spec := string(example)
	for _, c := range changes(data) {
		if n := strings.Count(spec, c[0]); n != 1 {
			return nil, fmt.Errorf("the example has %d times %q, want 1: adapt the changes to it", n, c[0])
		}
		spec = strings.Replace(spec, c[0], c[1], 1)
	}
	return []byte(spec), nil
}
