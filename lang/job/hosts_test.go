package job

import (
	"strings"
	"testing"
	"time"
)

// TestHosts: lists of nodes are counted as Slurm reads them. What is refused here,
// sbatch 22.05 refused.
func TestHosts(t *testing.T) {
	for list, want := range map[string]int{
		"n1": 1, "n1,n2": 2, "n[1-4]": 4, "n[01-03,7],m": 5, "r[0-1]n[0-3]": 8, "r[1-2]-ib": 2, "a,a,a[1-2],a1": 3, "n[08-11]": 4, "n1,": 1, "n[00][01-03]": 3, "n[0001-2]": 2,
		"n1, n2 n3": 3, ",n1,,n2": 2, "n[3-]": 1, "n[1-2].x": 2, "-n": 1, "$NODES": 1, // it may be a name
		"": 0, ",": 0, "/etc/nodes": 0, "./nodes; of mine": 0, "switch{s[1-2]}": 0, "n[1-99999999]": 0, "n[0-999][0-999]": 0, "n[1-70000]x[1-2],m": 0, "n[9223372036854775807]": 1,
		"n[1-": -1, "n]1": -1, "n[1]]": -1, "n[a-b]": -1, "n[4-1]": -1, "n[[1-2]]": -1, "n[]": -1, "n[1,,2]": -1, "n[1, 2]": -1, "n[1; rm -rf ~]": -1, "[n1,n2]": -1, "n[-1]": -1, "n[1-2-3]": -1,
		"n[18446744073709551615]": -1, "n1;n2": -1, "n1|n2": -1, "n?": -1, "n[1-3]*2": -1, "(n1)": -1, "!n1": -1, "~/nodes": -1,
	} {
		if got, err := Hosts(list); got != max(want, 0) || (err != nil) != (want < 0) {
			t.Errorf("%q: %d, %v, want %d", list, got, err, want)
		}
	}
}

// TestHostsBounded: no list takes long, whatever it repeats.
func TestHostsBounded(t *testing.T) {
	begun := time.Now()
	for list, want := range map[string]int{
		strings.Repeat("a[0-32767],", 5000): 0, strings.Repeat("n,", 30000): 1, "a[1-65536]": 65536, "a[1-65536],b": 0,
		"n" + strings.Repeat("[1]", 20000): 1, "n" + strings.Repeat("[1-2]", 12000): 0, strings.Repeat("n,", 1<<20): 0,
	} {
		if got, err := Hosts(list); got != want || err != nil {
			t.Errorf("%.20s: %d, %v, want %d", list, got, err, want)
		}
	}
	if took := time.Since(begun); took > 20*time.Second {
		t.Errorf("it took %v", took)
	}
}
