// SPDX-License-Identifier: Apache-2.0

package pyramid

import (
	"slices"
	"strings"
)

// axis is an axis in the metadata of OME-Zarr.
type axis struct {
	Name string `json:"name"`
	Type string `json:"type,omitempty"`
}

// The types of axes.
const (
	space   = "space"
	time    = "time"
	channel = "channel"
)

// unnamed are the names of axes that have none, from the last one on.
var unnamed = []string{"x", "y", "z", "c", "t"}

// axesOf describes axes by their names.
func axesOf(names []string, factors []int64) []axis {
	axes := make([]axis, len(factors))
	for i := range axes {
		name := ""
		if names != nil {
			name = names[i]
		}
		if after := len(axes) - 1 - i; name == "" && after < len(unnamed) {
			name = unnamed[after]
		} else if name == "" {
			name = "d" + string(rune('0'+i%10))
		}
		axes[i] = axis{name, typeOf(name, factors[i])}
	}
	return axes
}

// typeOf returns the type of an axis, or "" for one of another kind.
func typeOf(name string, factor int64) string {
	switch strings.ToLower(name) {
	case "t", "time":
		return time
	case "c", "channel", "channels", "band":
		return channel
	case "x", "y", "z", "lat", "lon", "latitude", "longitude", "height", "depth":
		return space
	}
	if factor > 1 {
		return space
	}
	return ""
}

// deviation says why axes are not those of an image of OME-Zarr, or returns "".
func deviation(axes []axis) string {
	of := func(types ...string) (n int) {
		for _, a := range axes {
			if slices.Contains(types, a.Type) {
				n++
			}
		}
		return n
	}
	order := func(a axis) int { return slices.Index([]string{time, "", channel, space}, a.Type) }
	switch {
	case len(axes) < 2 || len(axes) > 5:
		return "the axes are not 2 to 5"
	case of(space) < 2 || of(space) > 3:
		return "the axes of space are not 2 or 3"
	case of(time) > 1 || of(channel, "") > 1:
		return "there are several axes of time, or several that are neither of time nor of space"
	case !slices.IsSortedFunc(axes, func(a, b axis) int { return order(a) - order(b) }):
		return "the axes are not in the order of time, channel, space"
	}
	return ""
}
