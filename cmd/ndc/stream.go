package main

import "io"

// stream is an output of the program that remembers a failure, so that a full
// disk is an error whoever wrote.
type stream struct {
	io.Writer
	failed error
}

// Write implements io.Writer.
func (s *stream) Write(b []byte) (int, error) {
	n, err := s.Writer.Write(b)
	if err != nil && s.failed == nil {
		s.failed = err
	}
	return n, err
}
