// Package logs reads what training frameworks print: steps, phases, failures
// and tables of communication, as typed records.
//
// It knows the words of Megatron-LM, TorchTitan, DeepSpeed (its engines' lines
// and those of the program that ndc emits), of nccl-tests and of ndc's own Slurm
// scripts, and finds out by itself whose a line is: a log of a job mixes several.
// Which steps tell of a steady run is [Log.Steady]'s answer. It does not know what a plan
// predicted: package compiler/calibration compares, cmd/ndc opens the files. It
// is pure and takes text as it comes; nothing in a log is trusted.
package logs

import (
	"bufio"
	"errors"
	"io"
	"math"
	"slices"
	"time"
)

// Frameworks as Log.Framework names them, after the backends.
const (
	Megatron   = "megatron"
	TorchTitan = "torchtitan"
	DeepSpeed  = "deepspeed"
)

// Log is what a text says.
type Log struct {
	Framework string // the first that printed a step; "" when none did
	Total     int    // steps of the whole run; 0: not said
	Launches  []Launch
	Steps     []Step // in the order of the text
	Phases    []Phase
	Failures  []Failure
	Timers    []Timer
	Tables    []Table
	Speeds    []Speed
	Ended     bool // the scripts say that nothing follows
}

// Launch is one start of the processes: a submission, a link of a chain, or a
// restart inside one.
type Launch struct {
	Line   int       // where it begins
	Job    string    // number of the Slurm job; "" when not said
	Run    string    // of the chain of jobs that this one is a link of; "" when not said
	Began  time.Time // the first time printed; zero: none
	Ended  time.Time // the last
	Status int       // of srun as the script says; -1: not said

	Configuration string // hash of the plan.json that the script began with; "" when not said
	Edited        string // a file of its own copy that is not as that build wrote it, which whoever reads the log looks up; "" for none
	Framework     string // that printed its steps; "" when none did
	Batch                // as the framework says before the steps; what it does not say is 0
	Degrees              // the same
	Model                // the same
}

// Degrees are how the GPUs of a run share its work, by the words of layouts; what is not
// known is 0.
type Degrees struct {
	Tensor, Context, Pipeline, Expert int
	Replicate, Shard                  int // of data parallelism
	MicroBatch                        int // sequences
}

// Step is one report of progress.
type Step struct {
	Line      int
	Launch    int     // index in Log.Launches
	Iteration int     // that it was printed after
	Over      int     // steps that Seconds is the mean of
	Seconds   float64 // of one step
	Loss      float64 // 0: not printed
	NoNumber  bool    // the loss that was printed, of one rank at least, is not a number or infinite
	Skipped   int     // of the steps, those that the optimizer did not take, as where gradients overflow

	TokensPerSecond  float64 // of one GPU; 0: not printed
	SamplesPerSecond float64 // of all GPUs; 0: not printed
	Sequences        int     // of the step's batch; 0: not printed
	TFLOPS           float64 // of one GPU, by the framework's own count; 0: not printed

	Allocated float64 // peak bytes in tensors so far, the most of all ranks that speak; 0: not printed
	Reserved  float64 // peak bytes that the allocator held; 0: not printed

	At time.Time // as far as printed times and the steps' own tell; zero: they do not
}

// PhaseKind is what a run does beside training.
type PhaseKind string

// The kinds of phases.
const (
	Start      PhaseKind = "start"      // from the first line with a time to the first step's end
	Load       PhaseKind = "load"       // a checkpoint is read
	Save       PhaseKind = "save"       // the run waits for a checkpoint
	Evaluation PhaseKind = "evaluation" // held-out data
	Queue      PhaseKind = "queue"      // between the last line of a submission and the first of the next
)

// Phase is a time beside training.
type Phase struct {
	Launch    int
	Kind      PhaseKind
	Iteration int     // that it came after
	Seconds   float64 // 0: not printed
}

// Failure is a line that tells why a launch ended, or that it would.
type Failure struct {
	Line   int    `json:"line"`
	Launch int    `json:"launch"` // the first is 0
	Kind   string `json:"kind"`   // see failures
	Text   string `json:"text"`   // the line, cut
}

// Timer is what a framework's own timers say of a part of the step.
type Timer struct {
	Line      int
	Iteration int
	Name      string
	Seconds   float64 // of the slowest rank, per step
}

// Speed is what the program that measures nodes before a start says of one kind of
// work, beside what was predicted for it.
type Speed struct {
	Line      int
	Kind      SpeedKind
	Nodes     int // that took part, each by itself but for Between
	Seconds   float64
	Predicted float64 // seconds, too
}

// SpeedKind is the work that was measured.
type SpeedKind string

// The kinds of work.
const (
	Products SpeedKind = "gemm"    // of the slowest GPU of the node in the middle
	Inside   SpeedKind = "node"    // an all-reduce over the GPUs of the node in the middle
	Between  SpeedKind = "network" // an all-reduce over all GPUs of some nodes
)

// longest is the longest line that is read; the rest of a longer one is
// skipped. Frameworks print their configuration on lines of many kilobytes.
const longest = 1 << 20

// most is how many records of a kind a log keeps, so that it takes no more memory
// however long the text is: of steps the newest, which tell where a run is, of all
// else the first.
const most = 1 << 18

// keep adds a record to those of its kind as long as there is room.
func keep[T any](list *[]T, record T) {
	if len(*list) < most {
		*list = append(*list, record)
	}
}

// Read reads the lines of a text as the next ones of the log. The error is the
// reader's.
func (p *Parser) Read(r io.Reader) error { return Lines(r, p.Line) }

// Lines calls visit for each line of a text, with its end, one at a time: a text may
// be larger than memory. What stands behind the last end is no line yet: a number at
// the end of it may go on. The error is the reader's.
func Lines(r io.Reader, visit func(line string)) error {
	b := bufio.NewReaderSize(r, 1<<16)
	var line []byte
	for {
		part, err := b.ReadSlice('\n')
		if room := longest - len(line); room > 0 {
			line = append(line, part[:min(room, len(part))]...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		visit(string(line))
		line = line[:0]
	}
}

// Last is the newest step, nil without any.
func (l *Log) Last() *Step {
	if len(l.Steps) == 0 {
		return nil
	}
	return &l.Steps[len(l.Steps)-1]
}

// NoNumber is the step since which all losses of the newest launch are no numbers, as far
// as its reports tell; 0 where the last one is one.
func (l *Log) NoNumber() (since int) {
	for i := len(l.Steps) - 1; i >= 0 && l.Steps[i].NoNumber && l.Steps[i].Launch == l.Last().Launch; i-- {
		since = l.Steps[i].Iteration
	}
	return since
}

// Peak is the most memory that any step reported.
func (l *Log) Peak() (allocated, reserved float64) {
	for i := range l.Steps {
		allocated, reserved = max(allocated, l.Steps[i].Allocated), max(reserved, l.Steps[i].Reserved)
	}
	return allocated, reserved
}

// FirstPeak is the memory that the first reports of the first launch tell of,
// which lie behind its first step.
func (l *Log) FirstPeak() (allocated, reserved float64) {
	for i := range l.Steps {
		if s := &l.Steps[i]; s.Allocated+s.Reserved > 0 {
			return s.Allocated, s.Reserved
		}
	}
	return 0, 0
}

// Batch is what one step of a run trains on, and how many GPUs share it.
type Batch struct {
	Sequences int // 0: not known
	Length    int // of a sequence, in tokens; 0: not known
	GPUs      int // 0: not known
}

// tokens are those of a step.
func (b Batch) tokens() float64 { return float64(b.Sequences) * float64(b.Length) }

// of is how many sequences a step had, as far as its report tells; 0 where it does not.
func (b Batch) of(s *Step) float64 {
	switch {
	case s.Sequences > 0:
		return float64(s.Sequences)
	case s.SamplesPerSecond > 0:
		return s.SamplesPerSecond * s.Seconds
	case b.Length > 0:
		return s.TokensPerSecond * s.Seconds * float64(b.GPUs) / float64(b.Length)
	}
	return 0
}

// other reports whether a step had another batch. What is printed is rounded.
func (b Batch) other(s *Step) bool {
	const rounding = 0.02
	n := b.of(s)
	return b.Sequences > 0 && n > 0 && math.Abs(n/float64(b.Sequences)-1) > rounding
}

// In reports whether some report of a log may be of a step with the batch; where none is,
// the log is of another run, or of the beginning of one whose batch grows.
func (b Batch) In(l *Log) bool {
	return slices.ContainsFunc(l.Steps, func(s Step) bool { return !b.other(&s) })
}

// Fill computes the seconds of steps whose report tells samples or tokens per second
// alone, as a log does whose beginning is missing.
func (l *Log) Fill(b Batch) {
	for i := range l.Steps {
		switch s := &l.Steps[i]; {
		case s.Seconds != 0:
		case s.SamplesPerSecond > 0:
			s.Seconds = float64(b.Sequences) / s.SamplesPerSecond
		case s.TokensPerSecond > 0 && b.GPUs > 0:
			s.Seconds = b.tokens() / float64(b.GPUs) / s.TokensPerSecond
		}
	}
}
