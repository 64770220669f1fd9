// SPDX-License-Identifier: Apache-2.0

package tiff

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/virtual/scan"
)

// stack says that an IFD stands for several images, which follow each other in the file.
// Programs write such files if offsets of 32 bits do not reach all of them, or to save
// the IFDs.
type stack struct {
	program string // which has its own way to say it
	shape   []int64
	names   []string // of the axes of shape, which come before those of an image
	// whole says that the last axes of shape are those of an image.
	whole bool
	only  bool // if the file has no other images of full resolution
	// apart is why the planes cannot be found behind the first one, "" if they can.
	apart string
}

// stackOf returns what the tags of an image say about others behind it, nil if nothing.
// pages is the number of images at full resolution that have an IFD.
func stackOf(d *ifd, a *scan.Array, pages int) *stack {
	const uic2 = 33629 // has a value for each plane
	if e, ok := d.entries[uic2]; ok && e.count > 1 {
		return &stack{program: "MetaMorph", shape: []int64{e.count}, names: []string{"plane"}}
	}
	text := firstText(a.Attributes.Get(imageDescription.String()))
	switch {
	case strings.HasPrefix(text, "ImageJ="):
		return imageJ(text)
	case strings.HasPrefix(text, "{"):
		return shaped(text)
	case strings.Contains(text, "<OME"):
		return ome(strings.TrimPrefix(text, "\uFEFF"), a, pages)
	}
	return nil
}

// imageJ parses the description of ImageJ, which has lines such as images=12.
func imageJ(text string) *stack {
	numbers, order := map[string]int64{}, ""
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		if n, err := strconv.ParseInt(value, 10, 64); err == nil && n > 1 {
			numbers[key] = n
		}
		if key == "order" {
			order = value
		}
	}
	if numbers["images"] == 0 {
		return nil
	}
	s := &stack{program: "ImageJ", only: true}
	for _, axis := range [][2]string{{"frames", "t"}, {"slices", "z"}, {"channels", "c"}} {
		if n := numbers[axis[0]]; n > 0 {
			s.shape, s.names = append(s.shape, n), append(s.names, axis[1])
		}
	}
	// In any other order, and if the numbers do not agree, the axes are not known.
	if n, ok := checked.Product(s.shape...); !ok || n != numbers["images"] || order != "" && order != "xyczt" {
		s.shape, s.names = []int64{numbers["images"]}, []string{"plane"}
	}
	return s
}

// shaped parses the description of tifffile, such as {"shape": [4, 16, 20], "truncated":
// true}.
func shaped(text string) *stack {
	var m struct {
		Shape     []int64
		Axes      string
		Truncated bool
	}
	if json.Unmarshal([]byte(text), &m) != nil || !m.Truncated || len(m.Shape) == 0 {
		return nil
	}
	s := &stack{program: "tifffile", shape: m.Shape, whole: true}
	for i := range m.Shape {
		name := ""
		if len(m.Axes) == len(m.Shape) {
			name = strings.ToLower(m.Axes[i : i+1])
		}
		s.names = append(s.names, name)
	}
	return s
}

// mostPlanes bounds the chunks of all planes of a stack.
const mostPlanes = 1 << 22

// addPlanes makes an image the first plane of its stack. The error wraps
// [scan.ErrUnsupported] if the other ones cannot be found.
func (r *reader) addPlanes(a *scan.Array, s *stack) error {
	elements, fits := checked.Product(a.Shape...)
	bytes, also := checked.Mul(elements, int64(a.Type.Size()))
	shape, names, ok := s.before(elements)
	planes, countable := checked.Product(shape...)
	if !fits || !also || !ok || !countable || planes < 1 {
		return scan.Unsupportedf("the shape %d does not fit an image of the shape %d", s.shape, a.Shape)
	}
	switch {
	case planes == 1:
		return nil
	case len(a.Codecs) != 1:
		return scan.Unsupportedf("the image is compressed")
	case !isContiguous(a, bytes):
		return scan.Unsupportedf("the image does not lie in one piece")
	case planes > mostPlanes/int64(len(a.Chunks)):
		return scan.Unsupportedf("more than %d chunks", mostPlanes)
	}
	if at := a.Chunks[0].Offset; planes > (r.file.Size()-at)/bytes {
		return scan.Unsupportedf("the file ends before: %d planes of %d bytes at %d, in a file of %d", planes, bytes, at, r.file.Size())
	}
	list := make([]scan.Chunk, 0, planes*int64(len(a.Chunks)))
	for k := range planes {
		for _, c := range a.Chunks {
			list = append(list, scan.Chunk{Number: k*int64(len(a.Chunks)) + c.Number, Offset: c.Offset + k*bytes, Length: c.Length})
		}
	}
	ones := slices.Repeat([]int64{1}, len(shape))
	a.Shape, a.Chunk, a.Names = slices.Concat(shape, a.Shape), slices.Concat(ones, a.Chunk), slices.Concat(names, a.Names)
	a.Chunks = list
	return nil
}

// before returns the axes that come before those of an image with so many samples, and
// their names. ok is false if the shape does not end with that of an image.
func (s *stack) before(samples int64) (shape []int64, names []string, ok bool) {
	if !s.whole {
		return s.shape, s.names, true
	}
	i, n := len(s.shape), int64(1)
	for ok = true; ok && n != samples && i > 0; {
		i--
		n, ok = checked.Mul(n, s.shape[i])
	}
	return s.shape[:i], s.names[:i], ok && n == samples
}

// isContiguous reports whether the strips of an image follow each other and have so many
// bytes.
func isContiguous(a *scan.Array, bytes int64) bool {
	if !a.Short || len(a.Chunks) == 0 { // tiles have another order
		return false
	}
	at := a.Chunks[0].Offset
	for i, c := range a.Chunks {
		if c.Offset != at || c.Number != int64(i) {
			return false
		}
		at += c.Length
	}
	return at-a.Chunks[0].Offset == bytes
}
