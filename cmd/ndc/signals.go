package main

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// signals is how this program takes the signals that ask it to end.
var signals = newInterruption()

// interruption ends the program when it is asked to: at once, or as soon as
// what must not be interrupted is done.
type interruption struct {
	busy   sync.Mutex // held while nothing may end the program
	asked  context.Context
	cancel context.CancelFunc

	folders sync.Mutex          // held while the next is changed
	left    map[string]struct{} // folders that are removed before the program ends
}

func newInterruption() *interruption {
	i := &interruption{left: map[string]struct{}{}}
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
		i.tidy()
		os.Exit(exitSignal + int(s.(syscall.Signal)))
	}()
}

// temporary makes a folder for files that nobody is to find later. It is removed by the
// function that comes with it, or before a signal ends the program.
func (i *interruption) temporary(pattern string) (dir string, remove func(), err error) {
	i.folders.Lock()
	defer i.folders.Unlock()
	dir, err = os.MkdirTemp("", pattern)
	if err != nil {
		return "", nil, err
	}
	i.left[dir] = struct{}{}
	return dir, func() {
		i.folders.Lock()
		defer i.folders.Unlock()
		os.RemoveAll(dir)
		delete(i.left, dir)
	}, nil
}

// tidy removes the folders that are left, those last whose work has not ended within a
// second of being asked to: it might still write to them. None is made from now on.
func (i *interruption) tidy() {
	const pause, most = 10 * time.Millisecond, 100
	for range most {
		i.folders.Lock()
		if len(i.left) == 0 {
			return
		}
		i.folders.Unlock()
		time.Sleep(pause)
	}
	i.folders.Lock()
	for dir := range i.left {
		os.RemoveAll(dir)
	}
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
