package megatron

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestInterpret: the interpreter gives torchrun what bash gives it.
func TestInterpret(t *testing.T) {
	folder := filepath.Join("..", "..", "examples", "llama3-long", "out", "llama3-long", "megatron")
	l := Launch{Name: "0", Capability: "9.0", Nodes: 16, PerNode: 8, Files: map[string][]byte{}}
	for _, name := range []string{"launch.sh", "environment.sh"} {
		content, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		l.Files[name] = content
	}
	got, err := interpret(l)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	want, err := record(l, "wheel", dir)
	if err != nil {
		t.Fatal(err)
	}
	for i, a := range want.Arguments { // where the folder is does not matter
		if rest, found := strings.CutPrefix(a, dir); found {
			want.Arguments[i] = "/" + rest
		}
	}
	if !slices.Equal(got.Arguments, want.Arguments) {
		t.Errorf("arguments\n%q\nbash\n%q", got.Arguments, want.Arguments)
	}
	for name, value := range want.Environment {
		if got.Environment[name] != value && !strings.HasPrefix(name, "NDC_") {
			t.Errorf("%s=%q, bash %q", name, got.Environment[name], value)
		}
	}
	if len(got.Environment) == 0 {
		t.Errorf("variables %q, bash %q", slices.Sorted(maps.Keys(got.Environment)), slices.Sorted(maps.Keys(want.Environment)))
	}
}
