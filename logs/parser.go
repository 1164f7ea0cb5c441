package logs

import (
	"cmp"
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Parser reads a log line by line, as it grows. The zero Parser is at the
// beginning of a log.
type Parser struct {
	log   Log
	line  int
	clock time.Time // the last one printed
	said  time.Time // the one that this line begins with; zero: none
	odd   time.Time // one far from the others of its launch, which the next one may confirm; zero: none

	speaker string          // what launchers put before this line: who says it
	spoken  map[string]int  // the newest step of the launch that each speaker said
	head    Batch           // what the lines of a launch say before its steps
	degrees Degrees         // the same
	model   Model           // the same
	parts   map[int]*shares // of the model, by the place of the tensor group
	ranks   int             // of all parts
	dense   bool            // the launch says that its model has no experts
	chained bool            // another submission follows this one

	survived int // reports since the last failure, in its launch
	skipped  int // steps without a report that the optimizer did not take

	stampedFirst bool // the first report of the launch had a time of its own, which all steps before it lie in front of

	memory Step // what a rank said of the memory of a step that is not reported yet
	timers timerBlock
	table  *tableReader
	trial  bool // the rows of a table belong to log.Tables' last
	rows   int  // of all tables
}

// Log is what was read so far. It stays the parser's.
func (p *Parser) Log() *Log { return &p.log }

// prefixes are what launchers put before a line: srun --label a task's number,
// torchrun and mpirun --tag-output a rank, the latter since Open MPI 5 with a blank
// behind it (src/common/pmix_iof.c of OpenPMIx); what collects logs a
// time; and what colours a text or clears a line of a terminal (ECMA-48's control
// sequences, of which a colour is one).
var (
	prefixes = regexp.MustCompile(`^(?:\s*\d+: |\[(?:rank|default)\d+\]:\s?|\[\S*\b\d+(?:\]\[\S+)?\]<std(?:out|err)>: ?)+`)
	stamps   = regexp.MustCompile(`^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)? `)
	colours  = regexp.MustCompile(`\x1b\[[0-?]*[ -/]*[@-~]`)
	torchrun = regexp.MustCompile(`\[default\d+\]:`)
)

// Unstamped is a line without the time that what collects logs puts before it.
func Unstamped(line string) string { return line[len(stamps.FindString(line)):] }

// Line reads the next line, with or without its end.
func (p *Parser) Line(text string) {
	p.line++
	text = strings.TrimRight(unwrapped(text), "\r\n")
	if strings.Contains(text, "\x1b[") {
		text = colours.ReplaceAllString(text, "")
	}
	for line := range strings.SplitSeq(apart(text), "\n") {
		p.say(line)
	}
}

// record is what a collector of logs writes of a line, such as Docker; Loki's is a line.
type record struct{ Log, Message, TextPayload, Line held }

func (r *record) text() string {
	return string(cmp.Or(r.Log, r.Message, r.TextPayload, r.Line))
}

// unwrapped is the line that a record of a collector of logs holds, or the record inside one
// where Google Cloud or Elasticsearch keeps it, behind what another collector put before the
// record; and any other line itself.
func unwrapped(text string) string {
	at := strings.Index(text, `{"`)
	if at < 0 || !strings.HasSuffix(strings.TrimRight(text, " \r\n"), "}") {
		return text
	}
	var r struct {
		record
		JSONPayload record
		Source      record `json:"_source"`
	}
	_ = json.Unmarshal([]byte(text[at:]), &r) // what is none of these leaves them empty
	if line := cmp.Or(r.text(), r.JSONPayload.text(), r.Source.text()); line != "" {
		return text[:at] + line
	}
	return text
}

// held is a text of a record: journald gives the bytes of one with colours. Filebeat's
// records have something else by the name of Docker's.
type held string

// UnmarshalJSON implements json.Unmarshaler.
func (h *held) UnmarshalJSON(b []byte) error {
	var text string
	var signs []uint8
	if json.Unmarshal(b, &text) != nil && json.Unmarshal(b, &signs) == nil {
		text = string(signs)
	}
	*h = held(text)
	return nil
}

// apart gives what torchrun glued together into one line an end for each speaker. It names
// the rank again where it has read what a rank has written so far of a line, whose rest,
// often its end alone, follows; another rank's line may stand between.
func apart(text string) string {
	if strings.Count(text, "[default") < 2 {
		return text
	}
	head := torchrun.FindStringIndex(text)
	if head == nil || head[0] > widest {
		return text
	}
	begin := len(stamps.FindString(text))
	if begin+len(prefixes.FindString(text[begin:])) < head[1] { // it tells of a rank
		return text
	}
	label, speaker := text[:head[0]], text[head[0]:head[1]]
	return text[:head[1]] + torchrun.ReplaceAllStringFunc(text[head[1]:], func(next string) string {
		if next == speaker {
			return ""
		}
		speaker = next
		return "\n" + label + next
	})
}

// widest is how much a launcher puts before torchrun's name of a rank at most: a time and a
// task's number.
const widest = 64

// say reads what one speaker says.
func (p *Parser) say(text string) {
	stamped := text
	text = Unstamped(text)
	prefix := prefixes.FindString(text)
	p.speaker = strings.TrimSpace(prefix) // a blank behind it may be the line's own
	if prefix != "" {
		text = Unstamped(text[len(prefix):])
	}
	p.time(stamped)
	for _, read := range []func(*Parser, string) bool{script, megatron, torchTitan, deepSpeed, model, table} {
		if read(p, text) {
			return
		}
	}
	p.failure(text)
}

// stamp is a time as the frameworks print it, and layouts what it looks like; the last is
// of Primus, around Megatron-LM.
var (
	stamp   = regexp.MustCompile(`\d{4}(?:-\d\d-\d\d[ T]|\d{4} )\d\d:\d\d:\d\d(?:[.,]\d{1,9})?`)
	stamped = []string{"2006-01-02 15:04:05.999999999", "2006-01-02 15:04:05,999999999", "20060102 15:04:05"}
)

// time keeps the time that a line begins with. Zones are not printed; nodes of
// one job share theirs.
func (p *Parser) time(text string) {
	p.said = time.Time{}
	head := text[:min(len(text), 120)]
	if !strings.Contains(head, "-") || !strings.Contains(head, ":") {
		return
	}
	found := strings.Replace(stamp.FindString(head), "T", " ", 1)
	if found == "" {
		return
	}
	for _, layout := range stamped {
		if t, err := time.Parse(layout, found); err == nil {
			p.said = t
			p.stamped(t)
			return
		}
	}
}

// silence is how far two times of a launch that follow one another lie apart at most: no run
// is silent for longer. A time further off is of something else that a line tells of, such
// as the day when a program was built, or the clock was set.
const silence = 24 * time.Hour

// stamped takes a time for that of a line. One that is far from the launch's others counts
// once the next one is near it, and what lies between is no time of the launch.
func (p *Parser) stamped(t time.Time) {
	n := len(p.log.Launches)
	if n == 0 {
		p.clock = t
		return
	}
	l := &p.log.Launches[n-1]
	switch {
	case l.Began.IsZero():
		l.Began = t
		p.queued(n - 1)
	case t.Sub(l.Ended).Abs() <= silence:
	case p.odd.IsZero() || t.Sub(p.odd).Abs() > silence:
		p.odd = t
		return
	default:
		l.Began = l.Began.Add(p.odd.Sub(l.Ended))
	}
	l.Ended, p.clock, p.odd = t, t, time.Time{}
}

// queued adds the time between two submissions.
func (p *Parser) queued(i int) {
	if i == 0 || p.log.Launches[i-1].Ended.IsZero() {
		return
	}
	gap := p.log.Launches[i].Began.Sub(p.log.Launches[i-1].Ended).Seconds()
	if gap >= 0 {
		keep(&p.log.Phases, Phase{Launch: i, Kind: Queue, Iteration: p.iteration(), Seconds: gap})
	}
}

// launch begins a launch, unless the last one has not trained yet, or a rank whose
// lines come late says what it said before the last one trained.
func (p *Parser) launch() *Launch {
	n := len(p.log.Launches)
	if n == 0 || p.trained(n-1) && (p.said.IsZero() || p.firstOf(n-1).At.Before(p.said)) {
		return p.begin()
	}
	return &p.log.Launches[n-1]
}

// begin begins a launch, whether or not the last one has trained.
func (p *Parser) begin() *Launch {
	n := len(p.log.Launches)
	if n == most {
		return &p.log.Launches[n-1]
	}
	next := Launch{Line: p.line, Status: -1}
	if n > 0 {
		p.head, p.degrees, p.model, p.parts, p.dense = Batch{}, Degrees{}, Model{}, nil, false
		if last := &p.log.Launches[n-1]; last.Status < 0 { // the script that began it goes on
			next.Run, next.Configuration = last.Run, last.Configuration
		}
	}
	p.log.Launches, p.spoken, p.odd, p.skipped = append(p.log.Launches, next), nil, time.Time{}, 0
	return &p.log.Launches[n]
}

// stepsOf are the steps of the newest launch that are kept.
func (p *Parser) stepsOf(launch int) []Step {
	i, _ := slices.BinarySearchFunc(p.log.Steps, launch, func(s Step, launch int) int { return cmp.Compare(s.Launch, launch) })
	return p.log.Steps[i:]
}

// firstOf is the first step of the newest launch, which has trained.
func (p *Parser) firstOf(launch int) *Step { return &p.stepsOf(launch)[0] }

// late joins a report of an earlier step than the newest to what was said of that step, if
// it is of the same launch: launchers pass on what ranks print as it comes, so that the
// lines of one may lie far behind those of another. It is late where who says it was not
// that far yet, if all are named, or where its time stamp is nearer to that of the same
// step's report than to the newest's, behind which all that a new launch says lies.
func (p *Parser) late(s *Step) bool {
	steps := p.stepsOf(len(p.log.Launches) - 1)
	i, found := slices.BinarySearchFunc(steps, s.Iteration, func(t Step, iteration int) int { return cmp.Compare(t.Iteration, iteration) })
	_, unnamed := p.spoken[""]
	behind := p.speaker != "" && !unnamed && p.spoken[p.speaker] < s.Iteration
	near := found && !p.said.IsZero() && !steps[i].At.IsZero() && p.said.Sub(steps[i].At).Abs() < p.said.Sub(p.log.Last().At).Abs()
	if !behind && !near {
		return false
	}
	if found {
		steps[i].join(s)
	}
	p.speak(s.Iteration)
	return true
}

// speak keeps how far who says this line is.
func (p *Parser) speak(iteration int) {
	if p.spoken == nil {
		p.spoken = map[string]int{}
	}
	if _, ok := p.spoken[p.speaker]; ok || len(p.spoken) < most {
		p.spoken[strings.Clone(p.speaker)] = iteration
	}
}

// trained reports whether a launch has steps.
func (p *Parser) trained(launch int) bool {
	s := p.log.Last()
	return s != nil && s.Launch == launch
}

// iteration is the newest step.
func (p *Parser) iteration() int {
	if s := p.log.Last(); s != nil {
		return s.Iteration
	}
	return 0
}

// step adds a report. Several ranks print the same step: what the later ones say
// of memory joins the first. A step that goes back is of a new launch.
func (p *Parser) step(framework string, s Step) {
	if s.Iteration <= 0 {
		return
	}
	if p.log.Framework == "" {
		p.log.Framework = framework
	}
	if len(p.log.Launches) == 0 {
		p.launch()
	}
	last := p.log.Last()
	if last != nil && last.Launch == len(p.log.Launches)-1 {
		if last.Iteration == s.Iteration {
			last.join(&s)
			p.speak(s.Iteration)
			return
		}
		if s.Iteration < last.Iteration {
			if p.late(&s) {
				return
			}
			p.begin()
		}
	}
	s.Line, s.Launch, s.Over = p.line, len(p.log.Launches)-1, 1
	first := last == nil || last.Launch != s.Launch
	if first {
		last = nil
	} else {
		s.Over = s.Iteration - last.Iteration
	}
	s.Skipped, p.skipped = min(s.Over, s.Skipped+p.skipped), 0
	p.passed(&s, last)
	s.At = p.clock
	if p.memory.Iteration == s.Iteration {
		s.join(&p.memory)
	}
	p.memory = Step{}
	if len(p.log.Steps) == 2*most {
		p.log.Steps = append(p.log.Steps[:0], p.log.Steps[most:]...)
	}
	p.log.Steps = append(p.log.Steps, s)
	p.speak(s.Iteration)
	p.survive()
	l := &p.log.Launches[s.Launch]
	if first {
		l.Framework, l.Batch, l.Degrees, l.Model, p.stampedFirst = framework, p.head, p.degrees, p.model, !p.said.IsZero()
	}
	if first && !l.Began.IsZero() {
		keep(&p.log.Phases, Phase{Launch: s.Launch, Kind: Start, Iteration: s.Iteration, Seconds: p.clock.Sub(l.Began).Seconds()})
	}
	p.interval()
}

// interval corrects the first report of a launch by the interval between its second and
// third: how many steps it is the mean of, and how much of the time before it was a start.
// One step alone may be reported before the interval begins.
func (p *Parser) interval() {
	launch := len(p.log.Launches) - 1
	steps := p.stepsOf(launch)
	if len(steps) != 2 && len(steps) != 3 {
		return
	}
	first, over := &steps[0], steps[len(steps)-1].Over
	if first.Iteration%over != 0 {
		over = 1
	}
	for i := len(p.log.Phases) - 1; p.stampedFirst && i >= 0 && p.log.Phases[i].Launch == launch; i-- {
		if q := &p.log.Phases[i]; q.Kind == Start && q.Iteration == first.Iteration {
			later := min(first.Seconds, steps[1].Seconds)
			q.Seconds = max(0, q.Seconds+later*float64(first.Over-over))
		}
	}
	first.Over = over
}

// passed lets the time pass that a step took since the one before it in the launch, nil
// for none, where its line has no time, as DeepSpeed's have not once they train.
func (p *Parser) passed(s, last *Step) {
	l := &p.log.Launches[s.Launch]
	if !p.said.IsZero() || l.Began.IsZero() {
		return
	}
	since := p.clock
	if last != nil {
		since = last.At
	}
	const longest = 365 * 24 * 3600
	if t := since.Add(time.Duration(min(s.Seconds*float64(s.Over), longest) * float64(time.Second))); t.After(p.clock) {
		p.clock, l.Ended = t, t
	}
}

// join takes over what another line says of the same step. A rate stays beside the time
// that was printed with it: engines and the programs around them measure different ones.
func (s *Step) join(o *Step) {
	switch {
	case s.Seconds == 0 && o.Seconds != 0:
		s.Seconds, s.TokensPerSecond, s.SamplesPerSecond = o.Seconds, o.TokensPerSecond, o.SamplesPerSecond
	case s.Seconds == 0 && s.TokensPerSecond == 0 && s.SamplesPerSecond == 0:
		s.TokensPerSecond, s.SamplesPerSecond = o.TokensPerSecond, o.SamplesPerSecond
	}
	s.Allocated, s.Reserved = max(s.Allocated, o.Allocated), max(s.Reserved, o.Reserved)
	for _, v := range []struct {
		mine   *float64
		theirs float64
	}{{&s.Loss, o.Loss}, {&s.TFLOPS, o.TFLOPS}} {
		if *v.mine == 0 {
			*v.mine = v.theirs
		}
	}
	s.NoNumber = s.NoNumber || o.NoNumber
	s.Sequences, s.Skipped = cmp.Or(s.Sequences, o.Sequences), max(s.Skipped, o.Skipped)
}

// phase adds a phase; ranks that say the same of one are one.
func (p *Parser) phase(kind PhaseKind, seconds float64) {
	at := Phase{Launch: max(0, len(p.log.Launches)-1), Kind: kind, Iteration: p.iteration(), Seconds: seconds}
	for i := len(p.log.Phases) - 1; i >= 0 && i >= len(p.log.Phases)-4; i-- {
		q := &p.log.Phases[i]
		if q.Kind == kind && q.Launch == at.Launch && q.Iteration == at.Iteration {
			q.Seconds = max(q.Seconds, seconds)
			return
		}
	}
	keep(&p.log.Phases, at)
}

// timer adds what a framework's own timer says.
func (p *Parser) timer(name string, seconds float64) {
	keep(&p.log.Timers, Timer{Line: p.line, Iteration: p.iteration(), Name: strings.Clone(name), Seconds: seconds})
}

// total keeps the length of the run.
func (p *Parser) total(text string) {
	if n := whole(text); n > 0 {
		p.log.Total = n
	}
}

// number reads a decimal number, with commas between thousands, 0 for what is
// none, and for what lies far outside of what fp32 holds: a rate that follows from
// it may be none.
func number(text string) float64 {
	v, err := strconv.ParseFloat(strings.ReplaceAll(strings.TrimSpace(text), ",", ""), 64)
	if size := math.Abs(v); err != nil || v != v || size > 1e50 || size < 1e-50 {
		return 0
	}
	return v
}

// loss reads a loss.
func (s *Step) loss(text string) {
	v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	s.Loss, s.NoNumber = number(text), err == nil && (math.IsNaN(v) || math.IsInf(v, 0))
}

// whole reads a count, 0 for what is none.
func whole(text string) int {
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil || n < 0 || n > 1<<40 {
		return 0
	}
	return n
}
