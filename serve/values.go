// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strconv"
	"strings"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/cf"
	"varve.dev/zarr/internal/export"
	"varve.dev/zarr/internal/mistake"
	"varve.dev/zarr/internal/npy"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/serve/internal/plain"
	"varve.dev/zarr/serve/internal/reply"
	"varve.dev/zarr/store"
)

// Limits of one request for values. A selection has at most mostSelected bytes, decoded,
// and a text at most mostText bytes.
const (
	mostSelected = 256 << 20
	mostText     = 1 << 30
	mostWait     = 30 * time.Second // for the memory that other requests hold
	mostLabels   = 1 << 20          // coordinates in a table
)

// refusal is an error whose text the client may have.
type refusal struct{ reply.Problem }

// Error implements error.
func (t *refusal) Error() string { return t.Detail }

func tell(status int, format string, args ...any) error {
	return &refusal{reply.Problem{Status: status, Detail: fmt.Sprintf(format, args...)}}
}

// serveValues answers a request for /@values/PATH.
func (h *Handler) serveValues(w http.ResponseWriter, r *http.Request, path string) error {
	name, below, _ := strings.Cut(strings.TrimSuffix(path, "/"), "/")
	n := h.nodes[name]
	if n == nil {
		reply.Refuse(w, http.StatusNotFound, "no node of this name is served: values are at /@values/NAME or /@values/NAME/PATH")
		return nil
	}
	w.Header().Add("Vary", "Accept")
	ctx, cancel := context.WithTimeout(r.Context(), h.most)
	defer cancel()
	counted, _ := w.(*response)
	if counted != nil {
		counted.end = time.Now().Add(h.most)
	}
	out := &answer{to: w, left: mostText, text: reply.NewText(w, r)}
	v := h.views.get(plain.Settings{}, name, n) // of which there is always room for one
	defer h.views.put(v)
	err := h.values.answer(ctx, out, r, &asked{served: n, name: name, path: below, view: v})
	if err == nil {
		_ = out.text.Close() // the client may have gone
		return nil
	}
	if out.begun {
		return &cutShort{err}
	}
	if counted != nil {
		counted.end = time.Time{} // the client may have the error also after that
	}
	if t := (*refusal)(nil); errors.As(err, &t) {
		t.Problem.Write(w)
		return nil
	}
	return n.answer(w, r, err)
}

// answer is the body of an answer. The headers are sent with its first byte, so that an
// error before that has an answer of its own.
type answer struct {
	to      http.ResponseWriter
	headers func(http.Header)
	begun   bool
	left    int64
	text    *reply.Text // the body if it is text
}

// Write implements [io.Writer].
func (a *answer) Write(p []byte) (int, error) {
	a.begin()
	if a.left -= int64(len(p)); a.left < 0 {
		return 0, fmt.Errorf("%w: the values as text have more than %s", zarr.ErrLimit, quantity.Bytes(mostText))
	}
	if a.isText() {
		return a.text.Write(p)
	}
	return a.to.Write(p)
}

// isText reports whether the body is JSON or CSV.
func (a *answer) isText() bool {
	kind, _, _ := strings.Cut(a.to.Header().Get("Content-Type"), ";")
	return kind == "application/json" || kind == "text/csv"
}

func (a *answer) begin() {
	if !a.begun {
		a.headers(a.to.Header())
		a.begun = true
	}
}

// patience returns how long the answer waits for memory. Once it has begun, it could only
// be cut.
func (a *answer) patience() time.Duration {
	if a.begun {
		return mostTime
	}
	return mostWait
}

// asked is an array of which values are asked for.
type asked struct {
	*served
	name, path string
	query
	array *zarr.Array
	view  *view // of the node, which keeps decoded chunks
	tile  int64 // the bytes of the box that a picture is read as, 0 if it is not
}

// answer answers a request for values.
func (v *values) answer(ctx context.Context, out *answer, r *http.Request, a *asked) (err error) {
	if a.query, err = parseQuery(r); err != nil {
		return err
	}
	if err := a.open(ctx, v.size/parts); err != nil {
		return err
	}
	defer a.array.Close() // it was only read
	src, err := a.source(ctx, v)
	if err != nil {
		return a.refusalOf(err)
	}
	length, err := a.check(src)
	if err != nil {
		return a.refusalOf(err)
	}
	out.headers = func(h http.Header) {
		h.Set("Content-Type", a.media)
		h.Set("Cache-Control", "private, no-cache")
		h.Set("Varve-Shape", shapeText(src.Shape))
		h.Set("Varve-Data-Type", src.Type.String())
		h.Set("Varve-Bounds", boundsText(src.Selection.Bounds()))
		if length >= 0 {
			h.Set("Content-Length", strconv.FormatInt(length, 10))
		}
	}
	if r.Method == http.MethodHead {
		out.begin()
		return nil
	}
	var labels, coordinates int64
	if a.header {
		if labels, coordinates, err = v.headings(ctx, a, src); err != nil {
			return a.refusalOf(err)
		}
	}
	if a.format == png {
		a.tile = a.tileBytes(src, v.size/parts)
	}
	held, err := v.hold(ctx, src, labels+a.tile+int64(a.picture.shape[0]*a.picture.shape[1]))
	if err != nil {
		return err
	}
	defer v.answers.Release(held)
	need := v.decoded(a.array, src.Selection)
	src.Reserve = func(ctx context.Context) (func(), error) { return v.decode(ctx, need, out.patience()) }
	if a.format == png {
		return a.refusalOf(a.picture.write(ctx, a, src, out))
	}
	// All values have one type. Settle it before the first one is sent.
	if err := src.Settle(ctx); err != nil {
		return err
	}
	if length, err = a.check(src); err != nil {
		return a.refusalOf(err)
	}
	if a.header {
		end, err := v.decode(ctx, coordinates, mostWait)
		if err != nil {
			return err
		}
		err = export.AddHeadings(ctx, src, a.serves, func(string) {})
		if end(); err != nil {
			return a.refusalOf(err)
		}
	}
	w := bufio.NewWriterSize(out, 1<<16)
	// What is in the buffer after an error is not sent, so that there may be an answer.
	if err := export.Write(ctx, src, a.format, w); err != nil {
		return a.refusalOf(err)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	out.begin() // there may be no values
	return nil
}

// open opens the array.
func (a *asked) open(ctx context.Context, budget int64) error {
	for name := range strings.SplitSeq(a.path, "/") {
		if plain.IsHidden(name) {
			return errNotThere
		}
	}
	at := a.location
	if a.path != "" {
		at = at.At(a.path) // whose store follows no link out of the node
	}
	if _, err := store.ParsePath(at.Path()); err != nil {
		return tell(http.StatusBadRequest, "the path is no legal key")
	}
	node, err := at.Open(ctx, &zarr.Options{Budget: budget})
	switch e := (*zarr.Error)(nil); {
	case errors.Is(err, fs.ErrNotExist):
		return tell(http.StatusNotFound, "there is no array here")
	case errors.Is(err, zarr.ErrUnsupported) && !errors.Is(err, store.ErrUnsupported) && errors.As(err, &e):
		return tell(http.StatusNotAcceptable, "%s", e.Err) // such as of an unknown codec
	case err != nil:
		return err
	}
	if g, ok := node.(*zarr.Group); ok {
		return a.groupError(ctx, g)
	}
	a.array = node.(*zarr.Array)
	return nil
}

// mostNamed bounds the arrays that the error for a group names.
const mostNamed = 20

// groupError is the error for a group in place of an array.
func (a *asked) groupError(ctx context.Context, g *zarr.Group) error {
	var names []string
	for m, err := range plain.Members(ctx, g, false) {
		if err != nil || len(names) > mostNamed {
			break
		}
		if _, ok := m.Node.(*zarr.Array); ok {
			names = append(names, m.Path)
		}
	}
	if len(names) == 0 {
		return tell(http.StatusBadRequest, "this is a group: ask for one of the arrays below it")
	}
	if len(names) > mostNamed {
		names[mostNamed] = "…"
	}
	return tell(http.StatusBadRequest, "this is a group: ask for one of its arrays, such as %s", strings.Join(names, ", "))
}

// serves reports whether an array lies in the node that is served. A coordinate may lie
// in a group above it.
func (a *asked) serves(c *zarr.Array) bool {
	below, ok := strings.CutPrefix(c.Path(), a.Root.String())
	if a.Root.IsRoot() {
		below, ok = "/"+below, true
	}
	return ok && strings.HasPrefix(below, "/") && a.Check(below[1:]) == nil
}

// source binds the selection to the array, with the memory of v.
func (a *asked) source(ctx context.Context, v *values) (*export.Source, error) {
	names := a.array.DimensionNames()
	if names == nil {
		names = make([]string, a.array.Rank())
	}
	find := func(dimension string, wanted selection.Values) (item selection.Item, err error) {
		c, err := cf.Coordinate(ctx, a.array, dimension)
		if err != nil {
			return item, err
		}
		if err := c.Close(); err != nil {
			return item, err
		}
		if !a.serves(c) {
			return item, fmt.Errorf("%w: the coordinate of dimension %q is not served with this array; select by index, as %s=0:10", zarr.ErrInvalidArgument, dimension, dimension)
		}
		held, decoded, err := v.labels(c, c.Shape()[0])
		if err != nil {
			return item, err
		}
		end, err := v.decode(ctx, sum(held, decoded), mostWait)
		if err != nil {
			return item, err
		}
		defer end()
		return cf.Lookup(ctx, a.array, dimension, wanted)
	}
	// There are no masks: the files of a server are not read.
	sel, err := selection.Parser{Names: names, Lookup: find}.Parse(a.sel)
	if err != nil {
		return nil, err
	}
	view, err := a.array.View(sel)
	if err != nil {
		return nil, err
	}
	src, err := export.Of(ctx, view, a.decoded && a.format != png)
	if err == nil {
		src.Memory = v.size / 4
	}
	return src, err
}

// check returns an error for values that cannot be answered, and the length of the body
// if it is known, else -1.
func (a *asked) check(src *export.Source) (length int64, err error) {
	if src.Bytes > mostSelected {
		t := &refusal{reply.Problem{Status: http.StatusRequestEntityTooLarge, Kind: "limit", Limit: mostSelected}}
		t.Select = a.smaller(src, export.Width(src.Stored)*max(1, export.Width(src.Type)/export.Width(src.Stored)))
		t.Detail = fmt.Sprintf("%s are selected, and one request gives at most %s: ask for parts, such as select=%s", quantity.Of(src.Selection.Len(), "value"), quantity.Bytes(mostSelected), t.Select)
		return 0, t
	}
	labels := int64(0)
	for _, n := range src.Shape {
		labels += n
	}
	if a.header && labels > mostLabels {
		return 0, tell(http.StatusRequestEntityTooLarge, "a table with coordinates has at most %s of them along all axes: leave out header=1, or select a part", quantity.Number(mostLabels))
	}
	length = -1
	switch a.format {
	case png:
		return -1, a.picture.check(a, src)
	case export.Raw, export.NPY:
		if err := export.CheckFormat(src, a.format); err != nil {
			return 0, err
		}
		if src.Decoding == nil || !src.Decoding.MayOverflow() || src.Selection.Len() == 0 {
			length = src.Selection.Len() * int64(src.Type.Size())
		}
		if a.format == export.NPY && length >= 0 {
			length += int64(len(npy.Header{Type: src.Type, Shape: src.Shape}.Append(nil)))
		}
	}
	return length, nil
}

// smaller returns a selection of at most [mostSelected] bytes of what is selected.
func (a *asked) smaller(src *export.Source, width int64) string {
	box, room := src.Selection.Bounds(), mostSelected/width
	for i := len(box) - 1; i >= 0; i-- {
		n := min(box[i].Len(), max(1, room))
		box[i].Stop = box[i].Start + n
		room /= max(1, n)
	}
	return a.text(func(i int) string { return side(box[i]) })
}

// text returns a selection of an item for each axis, by name where the names permit it.
func (a *asked) text(item func(axis int) string) string {
	names := a.array.DimensionNames()
	items, count := make([]string, a.array.Rank()), map[string]int{}
	for _, n := range names {
		if count[n]++; n == "" || count[n] > 1 || strings.ContainsAny(n, "=,\"&+%# {") {
			names = nil
			break
		}
	}
	for i := range items {
		if items[i] = item(i); names != nil {
			items[i] = names[i] + "=" + items[i]
		}
	}
	return strings.Join(items, ",")
}

// words puts parameters in the place of what the library suggests.
var words = strings.NewReplacer(remedy.AsJSON, "format=json", remedy.AsRaw, "format=raw", remedy.Decode, "decode=1",
	remedy.Header, "header=1", remedy.SelectPart, "select a part (select=)",
	"invalid selection: ", "", "invalid argument: ", "")

// refusalOf returns err with a text for the client, if it is about the request. An error
// of a store names its operation and the place, and is returned as it is.
func (a *asked) refusalOf(err error) error {
	cause, place := err, (*zarr.Error)(nil)
	if errors.As(err, &place) && err == error(place) {
		cause = place.Err
	}
	if err == nil || errors.As(err, new(*refusal)) || errors.As(cause, new(*zarr.Error)) {
		return err
	}
	p := reply.Problem{Status: http.StatusBadRequest, Kind: zarr.KindOf(err)}
	switch {
	case errors.Is(err, zarr.ErrLimit):
		p.Status = http.StatusRequestEntityTooLarge
	case errors.Is(err, zarr.ErrUnsupported), errors.As(err, new(export.Unfit)):
		p.Status = http.StatusNotAcceptable
	case !errors.Is(err, selection.ErrInvalid) && !errors.Is(err, zarr.ErrInvalidArgument):
		return err
	}
	p.Detail = words.Replace(cause.Error()) + a.hint(err)
	if root := a.Root.String(); root != "" {
		p.Detail = strings.ReplaceAll(p.Detail, " "+root, " "+a.name)
	}
	return &refusal{p}
}

// hint returns how to write a coordinate value, for an index that an axis does not have.
func (a *asked) hint(err error) string {
	index, axis := (*mistake.Index)(nil), (*grid.AxisError)(nil)
	if !errors.As(err, &index) || !errors.As(err, &axis) || axis.Axis >= len(a.array.DimensionNames()) || a.array.DimensionNames()[axis.Axis] == "" {
		return ""
	}
	name := a.array.DimensionNames()[axis.Axis]
	return fmt.Sprintf("; a whole number is an index, and a coordinate value has a point or is a range: %s=%d.0 or %s=%d..%d", name, index.Index, name, index.Index, index.Index)
}

// boundsText returns the smallest box that has all selected elements, such as 45,0:721.
// It tells which element is nearest to a coordinate value.
func boundsText(box grid.Box) string {
	text := make([]string, len(box))
	for i := range box {
		text[i] = side(box[i])
	}
	return strings.Join(text, ",")
}

// side returns the indices of an axis as an item of a selection.
func side(i grid.Interval) string {
	if i.Len() == 1 {
		return strconv.FormatInt(i.Start, 10)
	}
	return fmt.Sprintf("%d:%d", i.Start, i.Stop)
}

// shapeText returns a shape as text, such as 12,721.
func shapeText(shape []int64) string {
	text := make([]string, len(shape))
	for i, n := range shape {
		text[i] = strconv.FormatInt(n, 10)
	}
	return strings.Join(text, ",")
}
