// SPDX-License-Identifier: Apache-2.0

package conventions

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/cf"
	"varve.dev/zarr/metadata"
)

// object is a JSON object. A bare NaN, as Python writes it, is the text "NaN".
type object = map[string]any

// textOf returns an attribute that is text, else "".
func textOf(a object, name string) string {
	s, _ := a[name].(string)
	return s
}

// objects returns the objects of a list. ok is false unless v is a list of nothing else.
func objects(v any) (all []object, ok bool) {
	list, ok := v.([]any)
	for _, v := range list {
		o, isObject := v.(object)
		if !isObject {
			return nil, false
		}
		all = append(all, o)
	}
	return all, ok
}

// texts returns the texts of a list. ok is false unless v is a list of nothing else.
func texts(v any) (all []string, ok bool) {
	list, ok := v.([]any)
	for _, v := range list {
		s, isText := v.(string)
		if !isText {
			return nil, false
		}
		all = append(all, s)
	}
	return all, ok
}

// numbers returns a number, or those of a list. ok is false for all else.
func numbers(v any) (all []float64, ok bool) {
	if f, isNumber := v.(float64); isNumber {
		return []float64{f}, true
	}
	list, ok := v.([]any)
	for _, v := range list {
		f, isNumber := v.(float64)
		if !isNumber {
			return nil, false
		}
		all = append(all, f)
	}
	return all, ok
}

// listOf returns a list of n numbers. ok is false for all else.
func listOf(v any, n int) (all []float64, ok bool) {
	if _, isList := v.([]any); !isList {
		return nil, false
	}
	all, ok = numbers(v)
	return all, ok && len(all) == n
}

// isIndex reports whether a value is an integer of at least 0.
func isIndex(v any) bool {
	f, ok := v.(float64)
	return ok && f >= 0 && f == math.Trunc(f)
}

// isInteger reports whether a data type has integers.
func isInteger(t dtype.Type) bool {
	return t.Kind() == dtype.KindInt || t.Kind() == dtype.KindUint
}

// spelled returns the texts of a number, or of those of a list, as the document has them.
// It returns none for all else.
func (j *judge) spelled(name string) []string {
	if _, ok := numbers(j.a[name]); !ok {
		return nil
	}
	raw, _, _ := metadata.Attribute(j.attributes, name) // the document was parsed before
	return strings.FieldsFunc(string(raw), func(r rune) bool { return strings.ContainsRune("[], \t\r\n", r) })
}

// holds reports whether a data type has the number that a text means. Only integers are
// judged, and by their digits: a float64 has not all integers of 64 bits.
func holds(t dtype.Type, text string) bool {
	if !isInteger(t) {
		return true
	}
	if whole, fraction, _ := strings.Cut(text, "."); strings.Trim(fraction, "0") == "" {
		text = whole
	}
	var err error
	if t.Kind() == dtype.KindInt {
		_, err = strconv.ParseInt(text, 10, t.Bits())
	} else {
		_, err = strconv.ParseUint(text, 10, t.Bits())
	}
	if !errors.Is(err, strconv.ErrSyntax) {
		return err == nil
	}
	f, _ := strconv.ParseFloat(text, 64) // with an exponent, a fraction or a sign
	bits := float64(t.Bits())
	least, most := 0.0, math.Exp2(bits)
	if t.Kind() == dtype.KindInt {
		most /= 2
		least = -most
	}
	return f == math.Trunc(f) && f >= least && f < most
}

// among reports whether a word is one of a list, whose words are separated by spaces.
func among(list, word string) bool { return slices.Contains(strings.Fields(list), word) }

// isMadeOf reports whether a text has at least one character, and only those of a set.
func isMadeOf(text, set string) bool {
	return text != "" && strings.Trim(text, set) == ""
}

const (
	lower  = "abcdefghijklmnopqrstuvwxyz"
	digits = "0123456789"
	alnum  = lower + digits + "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
)

// mostElements bounds the arrays whose elements are read.
const mostElements = 1_000_000

// extremes returns the least and the largest element of an array of integers. ok is false
// if it is too long, empty, or cannot be read, of which the check itself says more.
func (j *judge) extremes(of *node) (least, most float64, ok bool) {
	size := int64(1)
	for _, n := range of.shape {
		if size *= min(n, mostElements+1); size > mostElements {
			return 0, 0, false
		}
	}
	if !j.values || size == 0 || !isInteger(of.typ) {
		return 0, 0, false
	}
	a, err := j.at.At(of.path).OpenArray(j.ctx, nil)
	if err != nil {
		return 0, 0, false
	}
	defer a.Close()
	p, err := cf.PackingOf(j.ctx, a)
	if err != nil {
		return 0, 0, false
	}
	all, err := a.Select(nil)
	if err != nil {
		return 0, 0, false
	}
	n := a.Type().Size()
	data := make([]byte, int(size)*n)
	if a.ReadBytes(j.ctx, all, data) != nil {
		return 0, 0, false
	}
	least, most = math.Inf(1), math.Inf(-1)
	for ; len(data) > 0; data = data[n:] {
		f := p.Stored(data[:n])
		least, most = min(least, f), max(most, f)
	}
	return least, most, true
}
