package backends

import "testing"

// TestMeantVersion: versions are near in their order, not in their spelling.
func TestMeantVersion(t *testing.T) {
	known := []string{"core_v0.15.0", "core_v0.18.0", "core_v0.18.2", "core_v0.19.2"}
	for given, want := range map[string]string{
		"core-0.19.2":  ` Did you mean "core_v0.19.2"?`,
		"core_v0.20.0": ` Did you mean "core_v0.19.2"?`,
		"0.18.1":       ` Did you mean "core_v0.18.0" or "core_v0.18.2"?`,
		"v0.9":         ` Did you mean "core_v0.15.0"?`,
		"core_v0.19":   ` Did you mean "core_v0.19.2"?`,
		"0.18":         ` Did you mean "core_v0.18.0" or "core_v0.18.2"?`,
		"core_r0.15.0": ` Did you mean "core_v0.15.0"?`,
		"latest":       "",
		"":             "",
	} {
		if got := MeantVersion(given, known); got != want {
			t.Errorf("MeantVersion(%q) = %q, want %q", given, got, want)
		}
	}
}
