package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// hashedRuns are plans and logs as they are now.
type hashedRuns struct {
	plans map[string]string       // hashes
	logs  map[string][]*hashedLog // of each plan, in order
}

// hashedLog is a log as it is now.
type hashedLog struct {
	name, hash string
	size       int64
	copied     bool // another log of the same plan has all of it
}

// hashed reads all plans and logs once, and finds the logs that are copies of others: all
// of them, or as far as they had come when they were made.
func (r *foundRuns) hashed() (*hashedRuns, error) {
	h := &hashedRuns{plans: map[string]string{}, logs: map[string][]*hashedLog{}}
	known := map[string]bool{}            // logs and their plans by their hashes
	alike := map[[2]string][]*hashedLog{} // those that begin alike, by plan and beginning
	for _, plan := range r.plans {
		hash, _, err := hashOf(plan)
		if err != nil {
			return nil, err
		}
		h.plans[plan] = hash
		for _, name := range r.logs[plan] {
			l := &hashedLog{name: name}
			if l.hash, l.size, err = hashOf(name); err != nil {
				return nil, err
			}
			l.copied = known[hash+l.hash]
			known[hash+l.hash] = true
			h.logs[plan] = append(h.logs[plan], l)
			begins, err := beginning(name)
			if err != nil {
				return nil, err
			}
			if key := [2]string{hash, begins}; !l.copied && begins != "" {
				alike[key] = append(alike[key], l)
			}
		}
	}
	for _, list := range alike {
		for _, l := range list {
			for _, other := range list {
				if l.copied || other.size <= l.size {
					continue
				}
				var err error
				if l.copied, err = begins(other, l); err != nil {
					return nil, err
				}
			}
		}
	}
	return h, nil
}

// beginning is how a log begins, as far as an earlier copy of it does; "" for one that is
// too short to tell of anything.
func beginning(name string) (string, error) {
	const enough = 64
	head := make([]byte, enough)
	n := 0
	err := readLog(name, func(r io.Reader) (err error) {
		if n, err = io.ReadFull(r, head); errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
			n, err = 0, nil
		}
		return err
	})
	return string(head[:n]), err
}

// begins reports whether a log begins with all of a shorter one.
func begins(log, with *hashedLog) (same bool, err error) {
	err = readLog(with.name, func(short io.Reader) error {
		return readLog(log.name, func(long io.Reader) (err error) {
			same, err = equal(io.LimitReader(short, with.size), io.LimitReader(long, with.size))
			return err
		})
	})
	return same, err
}

// equal reports whether two texts are the same.
func equal(a, b io.Reader) (bool, error) {
	x, y := bufio.NewReader(a), bufio.NewReader(b)
	for {
		one, err := x.Peek(x.Size())
		other, err2 := y.Peek(y.Size())
		switch {
		case err != nil && !errors.Is(err, io.EOF):
			return false, err
		case err2 != nil && !errors.Is(err2, io.EOF):
			return false, err2
		case !bytes.Equal(one, other):
			return false, nil
		case len(one) == 0:
			return true, nil
		}
		for _, r := range []*bufio.Reader{x, y} {
			if _, err := r.Discard(len(one)); err != nil {
				return false, err
			}
		}
	}
}
