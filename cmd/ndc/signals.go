package main

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// signals is how this program takes the signals that ask it to end.
var signals = newInterruption()

// interruption ends the program when it is asked to: at once, or as soon as
// what must not be interrupted is done.
type interruption struct {
	busy   sync.Mutex // held while nothing may end the program
	asked  context.Context
	cancel context.CancelFunc
}

func newInterruption() *interruption {
	i := &interruption{}
	i.asked, i.cancel = context.WithCancel(context.Background())
	return i
}

// watch begins to take signals. One that the caller of the program ignores, as
// nohup and shells do for work in the background, stays ignored.
func (i *interruption) watch() {
	c := make(chan os.Signal, 1)
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			signal.Notify(c, s)
		}
	}
	go func() {
		s := <-c
		i.cancel()
		i.busy.Lock()
		os.Exit(exitSignal + int(s.(syscall.Signal)))
	}()
}

// context is done when the program was asked to end.
func (i *interruption) context() context.Context { return i.asked }

func (i *interruption) hold() { i.busy.Lock() }

// release lets signals end the program again, and does not return when one
// came: nothing more is said or done.
func (i *interruption) release() {
	i.busy.Unlock()
	if i.asked.Err() != nil {
		i.wait()
	}
}

// wait does nothing until a signal, which has come, ends the program.
func (i *interruption) wait() { select {} }
