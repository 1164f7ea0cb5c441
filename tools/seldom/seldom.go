// Package seldom lets tests collect garbage seldom: most of what they hold lives
// for one case, so that the heap of a test is small, is filled many times a second, and a
// third of the time of a search in it goes to collections. A test file imports it for its
// effect. GOGC in the environment decides instead where it is set.
package seldom

import (
	"os"
	"runtime/debug"
)

// Ballast is never touched, so it takes no memory, but counts as what lives: nothing is
// collected before the heap has grown to three times of it.
var Ballast []byte

func init() {
	if os.Getenv("GOGC") == "" {
		Ballast = make([]byte, 64<<20)
		debug.SetGCPercent(200)
	}
}
