// SPDX-License-Identifier: Apache-2.0

package chunking

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"varve.dev/zarr/cmd/varve/internal/input"
	"varve.dev/zarr/cmd/varve/internal/localfile"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/strictjson"
)

// mostLabels bounds the labels or counts of a file.
const mostLabels = 1 << 26

// labelList has the labels or counts of a file, in their spelling.
type labelList struct {
	texts []string
	words bool // the entries are texts, even those that look like numbers
}

// groupCut cuts an axis into groups. The file has a label for every element, or the
// number of elements of every group.
func groupCut(name string, data []byte, extent int64) (grid.Cut, error) {
	list, err := readLabels(name, data)
	if err != nil {
		return grid.Cut{}, fmt.Errorf("%s: %w", name, err)
	}
	cut, err := list.cut(extent)
	if err != nil {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return cut, err
}

// readLabels reads a .npy file, a JSON list, or text with one label per line. It
// recognizes which it is.
func readLabels(name string, data []byte) (labelList, error) {
	text := bytes.TrimSpace(data)
	switch {
	case bytes.HasPrefix(data, []byte("\x93NUMPY")):
		return labelsOfNPY(name, data)
	case bytes.HasPrefix(text, []byte("[")):
		return labelsOfJSON(text)
	default:
		return labelsOfLines(string(data))
	}
}

func labelsOfNPY(name string, data []byte) (l labelList, err error) {
	v := &input.Values{Name: name, Reader: bytes.NewReader(data), Total: int64(len(data)), Whole: true}
	if err := v.OpenNPY(); err != nil {
		return l, err
	}
	if len(v.Shape) != 1 {
		return l, fmt.Errorf("labels and counts must have one axis, but the file has shape %v", v.Shape)
	}
	if k := v.Type.Kind(); k != dtype.KindInt && k != dtype.KindUint && k != dtype.KindFloat {
		return l, fmt.Errorf("elements of type %s are neither labels nor counts", v.Type)
	}
	block, err := v.All()
	if err != nil {
		return l, err
	}
	var text []byte
	for i := range block.Len() {
		text = v.Type.AppendText(text[:0], block.At(i))
		if err := l.add(string(text)); err != nil {
			return l, err
		}
	}
	return l, nil
}

func labelsOfJSON(text []byte) (l labelList, err error) {
	list, err := strictjson.Parse(text, strictjson.Limits{Size: localfile.MaxText})
	if err != nil {
		return l, err
	}
	for i, e := range list.Elements() {
		word := string(e.Raw())
		isWord := e.Kind() == strictjson.String
		if isWord {
			if word, err = e.Str(); err != nil {
				return l, err
			}
		}
		switch {
		case !isWord && e.Kind() != strictjson.Number:
			err = e.Errorf("expected a number or a string")
		// The first entry decides how all entries are compared.
		case i > 0 && isWord != l.words:
			err = e.Errorf("numbers and strings cannot be mixed")
		default:
			l.words = isWord
			err = l.add(word)
		}
		if err != nil {
			return l, err
		}
	}
	return l, nil
}

func labelsOfLines(text string) (l labelList, err error) {
	text = strings.TrimRight(text, "\r\n")
	if text == "" {
		return l, nil
	}
	i := 0
	for line := range strings.SplitSeq(text, "\n") {
		i++
		if line = strings.TrimSpace(line); line == "" {
			return l, fmt.Errorf("line %d is empty", i)
		}
		if err := l.add(line); err != nil {
			return l, err
		}
	}
	return l, nil
}

func (l *labelList) add(text string) error {
	if len(l.texts) == mostLabels {
		return fmt.Errorf("more than %s labels or counts", phrase.Count(mostLabels))
	}
	l.texts = append(l.texts, text)
	return nil
}

// cut cuts an axis by labels or counts. A list as long as the axis has labels; a list
// that sums to the extent has counts.
func (l labelList) cut(extent int64) (grid.Cut, error) {
	n := int64(len(l.texts))
	counts, whole := numbersOf(l, func(s string) (int64, error) { return strconv.ParseInt(s, 10, 64) })
	var byCounts grid.Cut
	var sum int64
	var wrong error
	if whole {
		byCounts, sum, wrong = grid.Counts(counts)
	}
	areCounts := whole && wrong == nil && sum == extent
	switch {
	case n == extent && areCounts && n > 1: // only ones, so the sum fits, too
		return grid.Cut{}, fmt.Errorf("%s of 1 could be labels of one group, or counts: --chunks %d makes one chunk, --chunks 1 makes chunks of one element", phrase.Plural(n, "entry"), extent)
	case areCounts:
		return byCounts, nil
	case n == extent:
		return l.labels(counts, whole)
	case wrong != nil:
		return grid.Cut{}, fmt.Errorf("%s are neither labels for an axis of %s nor counts: %w", phrase.Plural(n, "entry"), phrase.Count(extent), wrong)
	case whole:
		return grid.Cut{}, fmt.Errorf("%s are neither labels for an axis of %s nor counts: their sum is %s", phrase.Plural(n, "entry"), phrase.Count(extent), phrase.Count(sum))
	}
	return grid.Cut{}, fmt.Errorf("%s for an axis of %s: every element needs one", phrase.Plural(n, "label"), phrase.Count(extent))
}

// labels cuts an axis where the label changes. It compares labels as numbers if all are
// numbers, else as texts.
func (l labelList) labels(whole []int64, isWhole bool) (grid.Cut, error) {
	if isWhole {
		return grid.Groups(whole)
	}
	// The upper half of uint64 does not fit int64.
	if large, ok := numbersOf(l, func(s string) (uint64, error) { return strconv.ParseUint(s, 10, 64) }); ok {
		return grid.Groups(large)
	}
	if reals, ok := numbersOf(l, func(s string) (float64, error) { return strconv.ParseFloat(s, 64) }); ok {
		return grid.Groups(reals)
	}
	return grid.Groups(l.texts)
}

// numbersOf parses all entries as numbers. ok is false if one is not a number.
func numbersOf[T any](l labelList, parse func(string) (T, error)) ([]T, bool) {
	if l.words {
		return nil, false
	}
	numbers := make([]T, 0, len(l.texts))
	for _, text := range l.texts {
		v, err := parse(text)
		if err != nil {
			return nil, false
		}
		numbers = append(numbers, v)
	}
	return numbers, true
}
