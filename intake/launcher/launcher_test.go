package launcher

import "testing"

// TestOf: a launcher is known as a program, wherever it lies, and as a module; what only begins
// or ends like one is none.
func TestOf(t *testing.T) {
	for word, want := range map[string][2]Kind{ // by any name, as a module
		"torchrun":                   {Torch, ""},
		"/opt/bin/torchrun":          {Torch, ""},
		"torch.distributed.launch":   {Torch, Torch},
		"deepspeed":                  {DeepSpeed, ""},
		"deepspeed.launcher.runner":  {DeepSpeed, DeepSpeed},
		"accelerate-launch":          {Accelerate, ""},
		"accelerate.commands.launch": {Accelerate, Accelerate},
		"accelerate":                 {},
		"torch.distributed":          {},
		"--deepspeed":                {},
		"train.py":                   {},
		"":                           {},
	} {
		if got := [2]Kind{Of(word), OfModule(word)}; got != want {
			t.Errorf("%q: %v, want %v", word, got, want)
		}
	}
}

// TestStarts: accelerate counts without the command that makes it a launcher.
func TestStarts(t *testing.T) {
	for word, want := range map[string]bool{"/opt/bin/accelerate": true, "torchrun": true, "deepspeed.launcher.runner": true, "train.py": false, "--accelerate": false} {
		if got := Starts(word); got != want {
			t.Errorf("%q: %t", word, got)
		}
	}
}
