package file

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/ndc-dev/ndc/compiler/option"
	"github.com/ndc-dev/ndc/compiler/plan"
)

// Layout is how a step is spread over the GPUs: an object with a member for
// every axis of package option.
type Layout plan.Layout

// MarshalJSON writes the axes in the order of their rows.
func (l Layout) MarshalJSON() ([]byte, error) {
	var o object
	for i := range option.Axes {
		o.add(option.Axes[i].JSON(), option.Axes[i].Value((*plan.Layout)(&l)))
	}
	return o.close()
}

// UnmarshalJSON reads the axes that are there.
func (l *Layout) UnmarshalJSON(b []byte) error {
	members, err := membersOf(b)
	for i := range option.Axes {
		err = members.read(err, option.Axes[i].JSON(), option.Axes[i].Value((*plan.Layout)(l)))
	}
	return err
}

// Execution holds the resolved options: an object with a member for every
// option of package option. An empty text means that the option does not apply.
type Execution plan.Execution

// MarshalJSON writes the options in the order of their rows.
func (x Execution) MarshalJSON() ([]byte, error) {
	var o object
	for i := range option.Options {
		o.add(option.Options[i].JSON(), option.Options[i].Value((*plan.Execution)(&x)))
	}
	return o.close()
}

// UnmarshalJSON reads the options that are there.
func (x *Execution) UnmarshalJSON(b []byte) error {
	members, err := membersOf(b)
	for i := range option.Options {
		err = members.read(err, option.Options[i].JSON(), option.Options[i].Value((*plan.Execution)(x)))
	}
	return err
}

// object is a JSON object that is being written.
type object struct {
	bytes.Buffer
	failed error
}

// add writes a member, whose value a pointer leads to. A list without entries
// is [], so that readers never meet null.
func (o *object) add(name string, pointer any) {
	if list, ok := pointer.(*[]int); ok && *list == nil {
		pointer = []int{}
	}
	value, err := json.Marshal(pointer)
	if err != nil && o.failed == nil {
		o.failed = fmt.Errorf("%s: %w", name, err)
	}
	separator := byte(',')
	if o.Len() == 0 {
		separator = '{'
	}
	o.WriteByte(separator)
	fmt.Fprintf(o, "%q:%s", name, value)
}

func (o *object) close() ([]byte, error) {
	o.WriteByte('}')
	return o.Bytes(), o.failed
}

// members are those of a JSON object that is being read.
type members map[string]json.RawMessage

func membersOf(b []byte) (m members, err error) {
	err = json.Unmarshal(b, &m)
	return m, err
}

// read puts a member into the place that a pointer leads to, unless something
// failed before.
func (m members) read(failed error, name string, pointer any) error {
	text, ok := m[name]
	if failed != nil || !ok {
		return failed
	}
	if err := json.Unmarshal(text, pointer); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
