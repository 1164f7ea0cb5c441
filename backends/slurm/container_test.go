package slurm

import (
	"testing"

	"github.com/ndc-dev/ndc/lang/job"
)

// TestImage: an image of a registry is spelt as the runtime reads it; files,
// names without a registry and variables stay as they are.
func TestImage(t *testing.T) {
	for _, c := range []struct{ image, pyxis, apptainer string }{
		{"nvcr.io/nvidia/pytorch:25.04-py3", "nvcr.io#nvidia/pytorch:25.04-py3", "docker://nvcr.io/nvidia/pytorch:25.04-py3"},
		{"nvcr.io#nvidia/pytorch:25.04-py3", "nvcr.io#nvidia/pytorch:25.04-py3", "docker://nvcr.io/nvidia/pytorch:25.04-py3"},
		{"docker://nvcr.io/nvidia/pytorch:25.04-py3", "nvcr.io#nvidia/pytorch:25.04-py3", "docker://nvcr.io/nvidia/pytorch:25.04-py3"},
		{"docker://me@nvcr.io#nvidia/nemo@sha256:0a", "me@nvcr.io#nvidia/nemo@sha256:0a", "docker://nvcr.io/nvidia/nemo@sha256:0a"},
		{"hub:5000/team/image", "hub:5000#team/image", "docker://hub:5000/team/image"},
		{"pytorch/pytorch:2.8.0", "pytorch/pytorch:2.8.0", "pytorch/pytorch:2.8.0"},
		{"docker://pytorch/pytorch:2.8.0", "docker://pytorch/pytorch:2.8.0", "docker://pytorch/pytorch:2.8.0"},
		{"/images/a.b/c.sqsh", "/images/a.b/c.sqsh", "/images/a.b/c.sqsh"},
		{"./a.b/c", "./a.b/c", "./a.b/c"},
		{"a.b/c.sif", "a.b/c.sif", "a.b/c.sif"},
		{"${IMAGE}", "${IMAGE}", "${IMAGE}"},
		{"${REGISTRY}/a:1", "${REGISTRY}/a:1", "${REGISTRY}/a:1"},
	} {
		for runtime, want := range map[string]string{"": c.pyxis, "pyxis": c.pyxis, "apptainer": c.apptainer} {
			if got := image(job.Container{Image: c.image, Runtime: runtime}); got != want {
				t.Errorf("%s with %q: %s, want %s", c.image, runtime, got, want)
			}
		}
	}
}
