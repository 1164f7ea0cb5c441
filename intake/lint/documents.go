package lint

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/ndc-dev/ndc/backends/deepspeed"
	"github.com/ndc-dev/ndc/intake/tree"
)

// checkDocuments checks the configurations of DeepSpeed that the script writes
// from here-documents.
func checkDocuments(s *script) {
	for _, d := range s.shell.Documents {
		n, err := tree.JSON([]byte(d.Content))
		o := n.Object()
		if err != nil || !slices.ContainsFunc(o, func(m tree.Member) bool {
			return slices.Contains([]string{"zero_optimization", "train_micro_batch_size_per_gpu", "train_batch_size"}, m.Key)
		}) {
			continue
		}
		s.keys(o, "", d.Line-1)
	}
}

// keys reports keys that no release of DeepSpeed has and that are nearly one of
// their place. Programs keep keys of their own there, too.
func (s *script) keys(o tree.Object, above string, line int) {
	known := deepSpeedKeys()[above]
	for _, m := range o {
		if near := closest(m.Key, known); near != "" && !slices.Contains(known, m.Key) {
			all := (deepspeed.Backend{}).Versions()
			s.report(UnknownKey, s.find(line+m.Line, m.Key), fmt.Sprintf("No release of DeepSpeed from %s to %s has a key %s. Did you mean %s?", all[0], all[len(all)-1], above+m.Key, near))
		}
		s.keys(m.Object(), above+m.Key+".", line)
	}
}

// deepSpeedKeys are the keys of all releases by the path of what holds them,
// which ends in a dot.
var deepSpeedKeys = sync.OnceValue(func() map[string][]string {
	keys := map[string][]string{}
	for _, v := range (deepspeed.Backend{}).Versions() {
		t, _ := deepspeed.Tables(v)
		for _, name := range t.Names() {
			parts := strings.Split(name, ".")
			for i := range parts {
				above := strings.Join(parts[:i], ".")
				if i > 0 {
					above += "."
				}
				if !slices.Contains(keys[above], parts[i]) {
					keys[above] = append(keys[above], parts[i])
				}
			}
		}
	}
	return keys
})
