// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"fmt"
	"image"
	"image/color"
	pngfile "image/png"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/cf"
	"varve.dev/zarr/internal/export"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/internal/subset"
	"varve.dev/zarr/serve/internal/reply"
)

// mostPixels bounds the pixels of a picture along each axis.
const mostPixels = 4096

// picture is how numbers become a picture. The zero value has the colors of viridis, from
// the least to the greatest number.
type picture struct {
	colors    []uint32 // nil for viridis
	isRanged  bool
	low, high float64
	decoded   bool
	packing   *cf.Packing // nil for booleans; without scale unless decoded
	shape     [2]int      // rows and columns
}

// colorMaps are evenly spaced colors, between which others lie on straight lines. They
// are those of matplotlib, those of RdBu from colorbrewer2.org.
var colorMaps = map[string][]uint32{
	"viridis": {0x440154, 0x482878, 0x3e4989, 0x31688e, 0x26828e, 0x1f9e89, 0x35b779, 0x6ece58, 0xb5de2b, 0xfde725},
	"grey":    {0x000000, 0xffffff},
	"RdBu":    {0x67001f, 0xb2182b, 0xd6604d, 0xf4a582, 0xfddbc7, 0xf7f7f7, 0xd1e5f0, 0x92c5de, 0x4393c3, 0x2166ac, 0x053061},
}

// setColors sets the color map. A name that ends with _r has its colors in reverse.
func (p *picture) setColors(name string) error {
	name, isReverse := strings.CutSuffix(name, "_r")
	colors, ok := colorMaps[name]
	if !ok {
		return tell(http.StatusBadRequest, "there is no color map %q: there are viridis, grey and RdBu, and viridis_r, grey_r and RdBu_r", name)
	}
	if p.colors = colors; isReverse {
		p.colors = slices.Clone(colors)
		slices.Reverse(p.colors)
	}
	return nil
}

// setRange sets the numbers that have the first and the last color.
func (p *picture) setRange(text string) error {
	low, high, _ := strings.Cut(text, ",")
	var errLow, errHigh error
	p.low, errLow = strconv.ParseFloat(low, 64)
	p.high, errHigh = strconv.ParseFloat(high, 64)
	if p.isRanged = true; errLow != nil || errHigh != nil || !(p.low < p.high) || math.IsInf(p.high-p.low, 0) {
		return tell(http.StatusBadRequest, "range=%s is no range: give two numbers, the smaller one first, such as range=250,310", text)
	}
	return nil
}

// check returns an error for what cannot be a picture, and sets the shape.
func (p *picture) check(a *asked, src *export.Source) error {
	if t := src.Stored; t != a.array.Type() || !cf.IsNumeric(t) && t.Kind() != dtype.KindBool {
		return tell(http.StatusNotAcceptable, "a picture is made of real numbers, and these are %s: use format=json", t)
	}
	shape := slices.Clone(src.Shape)
	for i := 0; i < len(shape) && len(shape) > 2; {
		if shape[i] == 1 {
			shape = slices.Delete(shape, i, i+1)
		} else {
			i++
		}
	}
	if len(shape) != 2 || slices.Contains(shape, 0) {
		return tell(http.StatusBadRequest, "a picture has two axes, and the shape of the selection is [%s]: select single elements along other axes, such as time=0", shapeText(src.Shape))
	}
	if max(shape[0], shape[1]) > mostPixels {
		t := &refusal{reply.Problem{Status: http.StatusRequestEntityTooLarge, Kind: "limit", Limit: mostPixels}}
		box := src.Selection.Bounds()
		t.Select = a.text(func(i int) string {
			n := box[i].Len()
			if n == 1 {
				return side(box[i])
			}
			return fmt.Sprintf("%s:%d", side(box[i]), (n-1)/mostPixels+1)
		})
		t.Detail = fmt.Sprintf("a picture has at most %s along each axis, and the selection has %d × %d: ask for fewer, such as select=%s", quantity.Of(mostPixels, "pixel"), shape[0], shape[1], t.Select)
		return t
	}
	p.shape, p.decoded = [2]int{int(shape[0]), int(shape[1])}, a.decoded
	return nil
}

// write writes the picture. Without a range, the elements are gone through twice. Only
// those of a tile are in memory for that.
func (p *picture) write(ctx context.Context, a *asked, src *export.Source, out *answer) (err error) {
	if src.Stored.Kind() != dtype.KindBool {
		if p.packing, err = cf.PackingOf(ctx, src.Array); err != nil {
			return err
		}
		if !p.decoded {
			p.packing = p.packing.Unscaled()
		}
	}
	elements := func(use func(block []byte)) error {
		return src.Blocks(ctx, func(e export.Values) error {
			use(e.Data)
			return ctx.Err()
		})
	}
	if a.tile > 0 {
		selected, err := a.readTile(ctx, src)
		if err != nil {
			return err
		}
		defer selected.Put()
		if selected != nil {
			elements = func(use func(block []byte)) error { use(selected.B); return nil }
		}
	}
	if !p.isRanged {
		if err := p.measure(elements); err != nil {
			return err
		}
	}
	made := image.NewPaletted(image.Rect(0, 0, p.shape[1], p.shape[0]), p.palette())
	pixels := made.Pix
	err = elements(func(block []byte) {
		p.numbers(block, func(x float64) {
			pixels[0] = p.pixel(x)
			pixels = pixels[1:]
		})
	})
	if err != nil {
		return err
	}
	headers := out.headers
	out.headers = func(h http.Header) {
		headers(h)
		h.Set("Varve-Range", fmt.Sprintf("%v,%v", p.low, p.high))
	}
	return encoder.Encode(out, made)
}

// encoder is quick. A picture is encoded for one request.
var encoder = pngfile.Encoder{CompressionLevel: pngfile.BestSpeed, BufferPool: new(encoderBuffers)}

// encoderBuffers keep what an encoder takes, about 1 MiB.
type encoderBuffers struct{ sync.Pool }

// Get implements [pngfile.EncoderBufferPool].
func (b *encoderBuffers) Get() *pngfile.EncoderBuffer {
	is, _ := b.Pool.Get().(*pngfile.EncoderBuffer)
	return is
}

// Put implements [pngfile.EncoderBufferPool].
func (b *encoderBuffers) Put(is *pngfile.EncoderBuffer) { b.Pool.Put(is) }

// numbers calls use with elements as numbers. Missing ones are NaN.
func (p *picture) numbers(block []byte, use func(float64)) {
	if p.packing == nil {
		for _, b := range block {
			use(float64(b))
		}
		return
	}
	var numbers [512]float64
	for size := p.packing.Type().Size(); len(block) > 0; {
		n := min(len(numbers), len(block)/size)
		p.packing.Floats(numbers[:n], block[:n*size])
		for _, x := range numbers[:n] {
			use(x)
		}
		block = block[n*size:]
	}
}

// measure sets the range to the least and the greatest finite number.
func (p *picture) measure(elements func(func(block []byte)) error) error {
	p.low, p.high = math.Inf(1), math.Inf(-1)
	err := elements(func(block []byte) {
		p.numbers(block, func(x float64) {
			if !math.IsInf(x, 0) && !math.IsNaN(x) {
				p.low, p.high = min(p.low, x), max(p.high, x)
			}
		})
	})
	if p.low > p.high {
		p.low, p.high = 0, 0 // infinities have the colors of the ends
	}
	return err
}

// mostAround bounds the elements of a tile, for each one that is selected.
const mostAround = 4

// tileBytes returns the bytes of the box that has the selected elements, if it is a tile:
// a small one that has few others. Its chunks stay in memory for the tiles beside it. It
// returns 0 if it is none.
func (a *asked) tileBytes(src *export.Source, most int64) int64 {
	chosen, size := (*subset.Elements)(src.Selection), int64(src.Stored.Size())
	n, ok := chosen.Bounds().Len()
	if !ok || n > most/size || n/mostAround > chosen.Len() {
		return 0
	}
	for i := range a.array.Rank() {
		if along, ok := chosen.Along(i); !ok || along.Given() != nil || along.Count == 0 {
			return 0
		}
	}
	return n * size
}

// readTile returns the selected elements of a tile. It returns nil if the view has
// another state of the array.
func (a *asked) readTile(ctx context.Context, src *export.Source) (*budget.Buffer, error) {
	chosen, size := (*subset.Elements)(src.Selection), src.Stored.Size()
	box := chosen.Bounds()
	all := budget.Get(a.tile)
	defer all.Put()
	from := strided.Contiguous(all.Bytes(a.tile), box.Shape(), size)
	for i := range box {
		along, _ := chosen.Along(i)
		from.Shape[i], from.Strides[i] = along.Count, from.Strides[i]*along.Step
	}
	if ok, err := a.view.present(ctx).Read(ctx, a.path, src.Array, box, from.Data); !ok || err != nil {
		return nil, err
	}
	selected := budget.Get(chosen.Len() * int64(size))
	selected.B = selected.Bytes(chosen.Len() * int64(size))
	strided.Copy(chosen.Place(strided.Contiguous(selected.B, src.Shape, size)), from)
	return selected, nil
}

// shades is the number of colors. One more stands for missing elements.
const shades = 255

// palette returns a transparent color and the others.
func (p *picture) palette() color.Palette {
	colors := p.colors
	if colors == nil {
		colors = colorMaps["viridis"]
	}
	all := color.Palette{color.NRGBA{}}
	for i := range shades {
		at := float64(i) / (shades - 1) * float64(len(colors)-1)
		k := min(int(at), len(colors)-2)
		between := func(shift int) uint8 {
			from, to := float64(colors[k]>>shift&0xff), float64(colors[k+1]>>shift&0xff)
			return uint8(math.Round(from + (to-from)*(at-float64(k))))
		}
		all = append(all, color.NRGBA{R: between(16), G: between(8), B: between(0), A: 0xff})
	}
	return all
}

// pixel returns the index of the color of a number. Numbers beyond the range have the
// color of its end.
func (p *picture) pixel(x float64) uint8 {
	switch {
	case math.IsNaN(x):
		return 0
	case x <= p.low:
		return 1
	case x >= p.high:
		return shades
	}
	// Halves, because the difference of two numbers may overflow.
	part := (x/2 - p.low/2) / (p.high/2 - p.low/2)
	return uint8(1 + math.Round(part*(shades-1)))
}
