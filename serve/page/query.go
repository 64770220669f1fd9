// SPDX-License-Identifier: Apache-2.0

package page

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/quantity"
)

// questions are those of the page, by the names of their addresses.
var questions = map[string]func(*Handler, context.Context, *query) (any, error){
	"nodes": (*Handler).listNodes, "group": (*Handler).describeGroup, "members": (*Handler).listMembers, "array": (*Handler).describeArray,
	"coordinate": (*Handler).labels, "plane": (*Handler).plane, "value": (*Handler).value,
	"chunks": (*Handler).chunks, "missing": (*Handler).missing, "cost": (*Handler).cost, "series": (*Handler).series, "export": (*Handler).export, "rows": (*Handler).rows, "plan": (*Handler).plan,
}

// query has the parameters of a question. Those that are not given have their defaults.
type query struct {
	node, after, find, field, part, sel, to, format string

	axis, y, x    int
	from, last    int64 // last is -1 without to=
	max, limit    int64
	at, index     []int64 // -1 in at stands for an axis of the plane
	box           []grid.Interval
	height, width int64
	decode, inner bool
	mean          bool
}

// Limits of parameters.
const (
	mostQuery  = 16 << 10
	mostSide   = 4096    // pixels
	mostPixels = 4 << 20 // of a plane
	mostMax    = 100_000 // labels, points, rows and members
)

// parse parses the parameters of a question.
func parse(raw string) (*query, error) {
	if len(raw) > mostQuery {
		return nil, refuse(http.StatusRequestURITooLong, "the query is longer than any that has a meaning")
	}
	given, err := url.ParseQuery(raw)
	if err != nil {
		return nil, refuse(http.StatusBadRequest, "the query is malformed: separate parameters by &, and escape other signs")
	}
	q := &query{axis: -1, y: -1, x: -1, last: -1, max: 1000, limit: -1, height: 256, width: 256}
	for name, list := range given {
		if len(list) > 1 {
			return nil, refuse(http.StatusBadRequest, "the parameter %q is given twice", name)
		}
		if !q.set(name, list[0]) {
			return nil, refuse(http.StatusBadRequest, "the parameter %q is unknown, or %q is no value of it", name, list[0])
		}
	}
	if q.height*q.width > mostPixels {
		return nil, refuse(http.StatusBadRequest, "a plane has at most %s: give a smaller size", quantity.Of(mostPixels, "pixel"))
	}
	return q, nil
}

// set sets a parameter, and reports whether it is one.
func (q *query) set(name, value string) (ok bool) {
	switch name {
	case "node":
		q.node, ok = value, true
	case "after":
		q.after, ok = value, true
	case "find":
		q.find, ok = value, true
	case "field":
		q.field, ok = value, true
	case "format":
		q.format, ok = value, true
	case "select":
		q.sel, ok = value, true
	case "part":
		q.part, ok = value, value == "real" || value == "imaginary" || value == "magnitude" || value == "phase"
	case "method":
		q.mean, ok = value == "mean", value == "mean" || value == "every"
	case "axis":
		q.axis, ok = axis(value)
	case "y":
		q.y, ok = axis(value)
	case "x":
		q.x, ok = axis(value)
	case "from":
		q.from, ok = number(value, 0, maxIndex)
	case "to":
		// The target of a plan is a text.
		q.to = value
		if q.last, ok = number(value, 0, maxIndex); !ok {
			q.last, ok = -1, true
		}
	case "max", "points", "count":
		q.max, ok = number(value, 1, mostMax)
	case "limit":
		q.limit, ok = number(value, 1, mostMax)
	case "at":
		q.at, ok = numbers(value, "-")
	case "index":
		q.index, ok = numbers(value, "")
	case "box":
		q.box, ok = intervals(value)
	case "size":
		var h, w string
		h, w, ok = strings.Cut(value, ",")
		if ok {
			q.height, ok = number(h, 1, mostSide)
		}
		if ok {
			q.width, ok = number(w, 1, mostSide)
		}
	case "decode":
		q.decode, ok = value == "1", value == "0" || value == "1"
	case "inner":
		q.inner, ok = value == "1", value == "0" || value == "1"
	}
	return ok
}

// maxIndex bounds indices, so that sums of a few of them do not overflow.
const maxIndex = 1 << 61

// number parses a number of digits within bounds.
func number(text string, least, most int64) (int64, bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil && n >= least && n <= most && text[0] != '+' && text[0] != '-'
}

func axis(text string) (int, bool) {
	n, ok := number(text, 0, grid.MaxRank-1)
	return int(n), ok
}

// numbers parses indices separated by commas. One that is spelled none is -1.
func numbers(text, none string) (list []int64, ok bool) {
	if text == "" {
		return []int64{}, true
	}
	for part := range strings.SplitSeq(text, ",") {
		n, ok := int64(-1), none != "" && part == none
		if !ok {
			n, ok = number(part, 0, maxIndex)
		}
		if list = append(list, n); !ok || len(list) > grid.MaxRank {
			return nil, false
		}
	}
	return list, true
}

// intervals parses a box such as 0:721,0:1440.
func intervals(text string) (box []grid.Interval, ok bool) {
	for part := range strings.SplitSeq(text, ",") {
		from, to, _ := strings.Cut(part, ":")
		start, isStart := number(from, 0, maxIndex)
		stop, isStop := number(to, 0, maxIndex)
		if box = append(box, grid.Interval{Start: start, Stop: stop}); !isStart || !isStop || start > stop || len(box) > grid.MaxRank {
			return nil, false
		}
	}
	return box, true
}
