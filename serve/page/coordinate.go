// SPDX-License-Identifier: Apache-2.0

package page

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/cf"
	"varve.dev/zarr/internal/export"
	"varve.dev/zarr/selection"
)

// coordinate is that of an axis.
type coordinate struct {
	Node      string          `json:"node"`
	Kind      string          `json:"kind"` // number, time, text or index
	Units     string          `json:"units"`
	Calendar  string          `json:"calendar"`
	First     json.RawMessage `json:"first"`
	Last      json.RawMessage `json:"last"`
	Ascending bool            `json:"ascending"`
	Even      bool            `json:"even"`

	array *zarr.Array
}

// coordinateOf opens the coordinate of an axis, if it is shown. It returns nil if there
// is none. The caller closes its array.
func (a *array) coordinateOf(ctx context.Context, axis int) (*coordinate, error) {
	names := a.DimensionNames()
	if names == nil || names[axis] == "" {
		return nil, nil
	}
	array, err := cf.Coordinate(ctx, a.Array, names[axis])
	if err != nil {
		return nil, ctx.Err() // there is none, or it is damaged: then the axis has indices
	}
	c := &coordinate{array: array, Kind: "number"}
	var shown bool
	if c.Node, shown = a.shown.node(array.Path()); !shown {
		return nil, array.Close()
	}
	c.Units, c.Calendar = cf.TextAttribute(array, "units"), cf.TextAttribute(array, "calendar")
	switch k := array.Type().Kind(); {
	case k == dtype.KindDatetime:
		c.Kind = "time"
	case k == dtype.KindString || k == dtype.KindUTF32 || k == dtype.KindTerminated || k == dtype.KindBytes:
		c.Kind = "text"
	case cf.IsNumeric(array.Type()):
		if _, is := cf.UnitsOf(array).Times(); is {
			c.Kind = "time"
		}
	}
	return c, nil
}

// mostEven bounds the elements of a coordinate of which it is found out whether they are
// evenly spaced.
const mostEven = 1 << 17

// measure sets what depends on the values of the coordinate.
func (c *coordinate) measure(ctx context.Context, h *Handler) error {
	n := c.array.Shape()[0]
	if n == 0 {
		return nil
	}
	ends, err := h.texts(ctx, c.array, []int64{0, n - 1}, true)
	if err != nil {
		return ctx.Err()
	}
	c.First, c.Last = ends[0], ends[1]
	if c.Kind == "text" {
		return nil
	}
	all := n
	if n > mostEven {
		n = 2
	}
	numbers, err := h.numbers(ctx, c.array, n)
	if err != nil || len(numbers) < 2 {
		return ctx.Err()
	}
	c.Ascending, c.Even = numbers[0] < numbers[1], n == all
	step := (numbers[n-1] - numbers[0]) / float64(n-1)
	for i, x := range numbers {
		// Values such as 0.1 are rounded to the type of the elements.
		if !(math.Abs(x-numbers[0]-float64(i)*step) <= 1e-3*math.Abs(step)+1e-6*math.Abs(x)*float64(boolInt(c.array.Type().Size() < 8))) {
			c.Even = false
		}
	}
	return nil
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// numbers reads the first elements of an array of one axis as numbers. Without units it
// is not known what they count.
func (h *Handler) numbers(ctx context.Context, c *zarr.Array, n int64) ([]float64, error) {
	size := int64(c.Type().Size())
	held, err := h.work.AcquireMore(ctx, n*(size+8)+h.Memory/32)
	if err != nil {
		return nil, err
	}
	defer h.work.ReleaseMore(held)
	data, numbers := make([]byte, n*size), make([]float64, n)
	if err := c.ReadBytes(ctx, selection.Box{{0, n}}, data); err != nil {
		return nil, err
	}
	if cf.IsNumeric(c.Type()) {
		p, err := cf.PackingOf(ctx, c)
		if err == nil {
			p.OfCoordinate().Floats(numbers, data)
		}
		return numbers, err
	}
	number, err := numberOf(c.Type(), "", "")
	if err != nil {
		return nil, err
	}
	for i := range numbers {
		numbers[i] = number(data[int64(i)*size:][:size])
	}
	return numbers, nil
}

// texts reads elements of an array of one axis, decoded, as JSON: numbers as numbers, all
// else as text. Places rise evenly, or are two.
func (h *Handler) texts(ctx context.Context, c *zarr.Array, places []int64, decoded bool) ([]json.RawMessage, error) {
	v, err := c.View(selection.Orthogonal{selection.List(places...)})
	if err != nil {
		return nil, err
	}
	src, err := export.Of(ctx, v, decoded)
	if errors.Is(err, zarr.ErrInvalidArgument) { // of malformed attributes
		src, err = export.Of(ctx, v, false)
	}
	if err != nil {
		return nil, err
	}
	held, err := h.work.AcquireMore(ctx, src.Bytes*2+h.Memory/16)
	if err != nil {
		return nil, err
	}
	defer h.work.ReleaseMore(held)
	src.Memory = h.Memory / 16
	if err := src.Settle(ctx); err != nil {
		return nil, err
	}
	list := make([]json.RawMessage, 0, len(places))
	err = src.Elements(ctx, func(elem []byte) error {
		list = append(list, jsonOf(src, elem))
		return nil
	})
	return list, err
}

// jsonOf returns an element as JSON for people: numbers as numbers, all else as text.
func jsonOf(src *export.Source, elem []byte) json.RawMessage {
	k := src.Type.Kind()
	if k == dtype.KindInt || k == dtype.KindUint || k == dtype.KindBool {
		return src.Type.AppendJSON(nil, elem)
	}
	text := textOf(src, elem)
	if k == dtype.KindFloat && !strings.Contains(text, "n") { // nan and inf
		return json.RawMessage(text)
	}
	quoted, _ := json.Marshal(text)
	return quoted
}

// longestText bounds the bytes of a text that is shown.
const longestText = 4 << 10

// textOf returns an element as text for people.
func textOf(src *export.Source, elem []byte) string {
	if len(elem) > longestText {
		elem = elem[:longestText]
	}
	if src.Decoding != nil {
		return src.Decoding.Format(elem)
	}
	return strings.ToValidUTF8(string(src.Type.AppendText(nil, elem)), "\uFFFD")
}

// labels answers with the values of a coordinate, or with indices where there is none.
func (h *Handler) labels(ctx context.Context, q *query) (any, error) {
	a, err := h.openAlong(ctx, q)
	if err != nil {
		return nil, err
	}
	defer a.Close() // it was only read
	n := a.Shape()[q.axis]
	from, to := min(q.from, n), n
	if q.last >= 0 {
		to = max(from, min(q.last, n))
	}
	step := max(1, (to-from+q.max-1)/q.max)
	var places []int64
	for at := from; at < to; at += step {
		places = append(places, at)
	}
	answer := &labelled{From: from, Step: step, Values: []json.RawMessage{}, version: a.version}
	c, err := a.coordinateOf(ctx, q.axis)
	if err != nil {
		return nil, err
	}
	if c == nil {
		for _, at := range places {
			text, _ := json.Marshal(at)
			answer.Values = append(answer.Values, text)
		}
		return answer, nil
	}
	defer c.array.Close()
	if len(places) > 0 {
		answer.Values, err = h.texts(ctx, c.array, places, true)
	}
	return answer, err
}

// labelled is an answer.
type labelled struct {
	From    int64             `json:"from"`
	Step    int64             `json:"step"`
	Values  []json.RawMessage `json:"values"`
	version string
}

func (l *labelled) tag() string { return l.version }

// roleOf says what an axis is: time, x, y, z or other.
func roleOf(name string, c *coordinate) string {
	name = strings.ToLower(name)
	if c != nil {
		standard := cf.TextAttribute(c.array, "standard_name")
		switch axis := strings.ToUpper(cf.TextAttribute(c.array, "axis")); {
		case c.Kind == "time" || axis == "T":
			return "time"
		case axis == "X" || axis == "Y" || axis == "Z":
			return strings.ToLower(axis)
		case standard == "latitude" || standard == "projection_y_coordinate" || standard == "grid_latitude":
			return "y"
		case standard == "longitude" || standard == "projection_x_coordinate" || standard == "grid_longitude":
			return "x"
		}
	}
	for role, known := range map[string]string{
		"time": " time t date valid_time ", "y": " lat latitude y nlat rlat nav_lat northing row rows ", "x": " lon longitude x nlon rlon nav_lon easting col cols column columns ",
		"z": " z level lev plev depth height altitude pressure isobaricinhpa pressure_level ",
	} {
		if strings.Contains(known, " "+name+" ") && name != "" {
			return role
		}
	}
	return "other"
}

// planeOf proposes the axes of a plane.
type planeOf struct {
	Y     int  `json:"y"`
	X     int  `json:"x"`
	FlipY bool `json:"flip_y"` // row 0 is the one at the bottom
}

// proposePlane returns the axes to be drawn first, or nil for fewer than two axes.
func proposePlane(axes []axisFacts, shape []int64) *planeOf {
	if len(axes) < 2 {
		return nil
	}
	p := &planeOf{Y: -1, X: -1}
	for i := range axes {
		switch axes[i].Role {
		case "y":
			p.Y = i
		case "x":
			p.X = i
		}
	}
	// Other axes are the last ones that have several elements.
	for k := 2 * len(axes); k > 0; k-- {
		i := (k - 1) % len(axes)
		long := k <= len(axes) || shape[i] > 1
		switch {
		case !long || i == p.Y || i == p.X:
		case p.X < 0:
			p.X = i
		case p.Y < 0:
			p.Y = i
		}
	}
	if p.Y > p.X && axes[p.Y].Role != "y" {
		p.Y, p.X = p.X, p.Y
	}
	c := axes[p.Y].Coordinate
	p.FlipY = axes[p.Y].Role == "y" && c != nil && c.Ascending
	return p
}

// runs are lengths of chunks, each with its number.
type runs [][2]int64

// mostRuns bounds the lengths that are told of an axis.
const mostRuns = 1 << 14

// runsIn returns the lengths of the chunks of an axis, nil if they are too many.
func runsIn(axis grid.Axis) runs {
	if axis.NumRuns() > mostRuns {
		return nil
	}
	list := runs{}
	for _, r := range axis.Sizes() {
		list = append(list, [2]int64{r.Length, r.Count})
	}
	return list
}
