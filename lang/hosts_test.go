package lang

import "testing"

// TestHosts: lists of nodes are counted as Slurm reads them.
func TestHosts(t *testing.T) {
	for list, want := range map[string]int{
		"n1": 1, "n1,n2": 2, "n[1-4]": 4, "n[01-03,7],m": 5, "r[0-1]n[0-3]": 8, "r[1-2]-ib": 2, "a,a,a[1-2],a1": 3, "n[08-11]": 4, "n1,": 1,
		"": 0, "/etc/nodes": 0, "n[1-": 0, "n]1": 0, "n[a-b]": 0, "n[4-1]": 0, "n[1-99999999]": 0, "n[[1-2]]": 0, "n[0-999][0-999]": 0, "$NODES": 1,
	} {
		if got, ok := hosts(list); got != want || ok != (want > 0) {
			t.Errorf("%q: %d, %v, want %d", list, got, ok, want)
		}
	}
}
