//go:build conformance

package torchtitan_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	frameworks "github.com/ndc-dev/ndc/integration/environment"
)

// TestYaRN: the model of DeepSeek-V3's attention scales its rope and its softmax
// by YaRN, whether sequences are longer than the original length or not.
func TestYaRN(t *testing.T) {
	program := ndc(t)
	job, err := os.ReadFile("testdata/latent.hcl")
	if err != nil {
		t.Fatal(err)
	}
	const factor, theta, rotated, head = 40, 1e4, 64, 192
	mscale := 0.1*math.Log(factor) + 1
	softmax := mscale * mscale / math.Sqrt(head)
	lowest := math.Pow(theta, -float64(rotated-2)/rotated) / factor
	for _, r := range releases {
		t.Run(r.version, func(t *testing.T) {
			line := r.line("YaRN of latent attention, built on CPU")
			line.AddAfter(t)
			for _, length := range []int{4096, 8192} {
				t.Run(fmt.Sprint(length), func(t *testing.T) {
					line.Count(t)
					dir := t.TempDir()
					if err := os.WriteFile(filepath.Join(dir, "job.hcl"), job, 0o644); err != nil {
						t.Fatal(err)
					}
					run(t, 5*time.Minute, nil, dir, program, "build", "job.hcl", "--var", fmt.Sprintf("length=%d", length), "--var", "version="+r.version)
					files := filepath.Join(dir, "out", "latent", "torchtitan")
					printed := run(t, 5*time.Minute, environment(t, files), files, append([]string{r.python(t), filepath.Join(here(t), "yarn.py")}, r.arguments...)...)
					var got struct {
						Lowest, Softmax float64
						Positions       int
					}
					if err := json.Unmarshal([]byte(frameworks.Tail(printed, 1)), &got); err != nil {
						t.Fatalf("%v: %s", err, printed)
					}
					if math.Abs(got.Lowest/lowest-1) > 1e-5 || math.Abs(got.Softmax/softmax-1) > 1e-9 {
						t.Errorf("lowest frequency %g, softmax scale %g: want %g and %g", got.Lowest, got.Softmax, lowest, softmax)
					}
					if r.version == "0.2.2" && got.Positions != length { // 0.3.0 has all that the model may ever take
						t.Errorf("%d positions, want %d", got.Positions, length)
					}
				})
			}
		})
	}
}
