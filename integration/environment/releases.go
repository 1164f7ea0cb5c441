package environment

import "slices"

// The versions of torch that the frameworks share. TorchTitan asks for its own
// (its release notes name 2.11.0 for 0.2.2 and 2.14.0 for 0.3.0); the others
// run on the older one.
const (
	olderTorch = "2.11.0"
	newerTorch = "2.14.0"
)

// Megatron is a release of megatron-core from the package index; its wheels
// carry megatron.training from 0.17 on, and work by themselves from 0.18.
func Megatron(version string) Environment {
	return Environment{
		Name: "megatron-" + version, Torch: olderTorch,
		Packages: []string{"megatron-core==" + version, "packaging", "pyyaml", "six", "regex", "pydantic", "psutil", "einops", "setuptools<81"},
		Project:  "megatron-core", Version: version, Imports: []string{"megatron.training"},
	}
}

// MegatronWheels are the releases whose wheels are judged; of other versions a
// checkout is needed.
var MegatronWheels = []string{"0.18.2", "0.19.2"}

// HasMegatronWheel reports whether a version is judged by its wheel.
func HasMegatronWheel(version string) bool { return slices.Contains(MegatronWheels, version) }

// TorchTitan is a release of torchtitan.
func TorchTitan(version string) Environment {
	torch := olderTorch
	if version == "0.3.0" {
		torch = newerTorch
	}
	return Environment{
		Name: "torchtitan-" + version, Torch: torch, Packages: []string{"torchtitan==" + version},
		Project: "torchtitan", Version: version, Imports: []string{"torchtitan"},
	}
}

// transformers are the releases that go with those of DeepSpeed: AutoEP works
// from 5.0 to before 5.21, and 0.16.4 is as old as 4.49.
var transformers = map[string]string{"0.19.8": "5.8.0", "0.18.2": "5.8.0", "0.16.4": "4.49.0"}

// Transformers is the release that stands beside one of DeepSpeed.
func Transformers(deepspeed string) string { return transformers[deepspeed] }

// DeepSpeed is a release of deepspeed with a transformers of its time.
func DeepSpeed(version string) Environment {
	return Environment{
		Name: "deepspeed-" + version, Torch: olderTorch, Options: []string{"--no-build-isolation"},
		Build:    []string{"setuptools<81", "wheel"},
		Packages: []string{"numpy", "tokenizers", "accelerate", "ninja", "transformers==" + transformers[version], "deepspeed==" + version},
		Project:  "deepspeed", Version: version, Imports: []string{"transformers", "deepspeed"},
	}
}

// DeepSpeedReleases, TorchTitanReleases are the releases that are judged.
var (
	DeepSpeedReleases  = []string{"0.16.4", "0.18.2", "0.19.8"}
	TorchTitanReleases = []string{"0.2.2", "0.3.0"}
)
