// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"errors"
	"fmt"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/quantity"
)

// ErrMismatch means that a file does not fit those before it. The message names the file,
// the array and the axis.
var ErrMismatch = errors.New("the files do not fit together")

// Joined is a hierarchy that grows file by file.
type Joined struct {
	join   Join
	m      *Manifest
	first  string // the name of the first part
	arrays map[string]*joined
	parts  int64
	notes  notes
	// refused has why arrays of the first part were refused.
	refused map[string]string
}

// joined is an array that grows.
type joined struct {
	*Array
	along int         // the axis that grows, or -1
	axes  []grid.Axis // of the parts, along that axis
	last  string      // the name of the part that was added last
	left  []string    // attributes that were left out, with a note
	coord *coordinate // if its values are kept, not references, or are compared
	// digest is that of the elements of a larger array, if it is compared, too.
	digest []byte
	unread error           // why its elements were not read, though they were wanted
	cuts   map[int64]error // why chunks cannot be cut to a length; see cuttable
}

// NewJoined returns a hierarchy without files.
func NewJoined(j Join) (*Joined, error) {
	if j.Concat != "" && j.Stack != "" {
		return nil, errors.New("files are either concatenated or stacked")
	}
	j.Padded = j.Padded && !j.CopyPadded
	return &Joined{join: j, m: &Manifest{Join: j}, arrays: map[string]*joined{}, refused: map[string]string{}}, nil
}

// mismatch returns an [ErrMismatch] about an array of a part.
func mismatch(part, path, format string, args ...any) error {
	return fmt.Errorf("%w: %s: %s: %s", ErrMismatch, part, path, fmt.Sprintf(format, args...))
}

// notes are remarks about files. Each kind of them has one format.
type notes struct {
	list  []note
	count map[string]int // of each kind
	more  int            // that are not in the list
}

type note struct{ kind, text string }

// mostNotes bounds the notes that are kept.
const mostNotes = 10000

// add adds a remark.
func (n *notes) add(format string, args ...any) {
	if n.count == nil {
		n.count = map[string]int{}
	}
	n.count[format]++
	if len(n.list) == mostNotes {
		n.more++
		return
	}
	n.list = append(n.list, note{format, fmt.Sprintf(format, args...)})
}

// Notes are remarks about the files, such as times that are out of order: the first
// 10,000, and how many more there are.
func (j *Joined) Notes() (texts []string) {
	for _, n := range j.notes.list {
		texts = append(texts, n.text)
	}
	if j.notes.more > 0 {
		texts = append(texts, fmt.Sprintf("there are %s", quantity.Count(j.notes.more, "more notes")))
	}
	return texts
}

// Summary returns [Joined.Notes] for people: of the notes of each kind, which say the
// same of other files and arrays, so many, and how many more there are.
func (j *Joined) Summary(most int) (texts []string) {
	shown := map[string]int{}
	for _, n := range j.notes.list {
		if shown[n.kind]++; shown[n.kind] > most {
			continue
		}
		texts = append(texts, n.text)
		if more := j.notes.count[n.kind] - most; shown[n.kind] == most && more > 0 {
			texts = append(texts, fmt.Sprintf("… and %d more like this", more))
		}
	}
	return texts
}

// extent returns the length of the axis along which the array grows, so far.
func (n *joined) extent() (length int64) {
	for _, axis := range n.axes {
		length += axis.Extent()
	}
	return length
}

// undecodable reports whether an error is about the stored bytes of an array: another
// attempt would meet it again.
func undecodable(err error) bool {
	return errors.Is(err, zarr.ErrCorrupt) || errors.Is(err, zarr.ErrUnsupported) || errors.Is(err, zarr.ErrLimit)
}
