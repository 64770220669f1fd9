// SPDX-License-Identifier: Apache-2.0

package grib2

import (
	"bytes"
	"image"
	"image/png"
)

// unpackPNG decodes values that are the pixels of an image (template 7.41). The bits of a
// value are those of a pixel: gray, or the samples of a colour one after the other.
func (p *packing) unpackPNG(v values, data []byte) error {
	head, err := png.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return corrupt("section 7: %v", err)
	}
	// Compare before decoding: the size of the image bounds the memory that it takes.
	if n := int64(head.Width) * int64(head.Height); n != int64(v.len()) {
		return corrupt("section 7 has an image of %d x %d for %d values", head.Width, head.Height, v.len())
	}
	decoded, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		return corrupt("section 7: %v", err)
	}
	pixels, bits, stride, bytes := pixelsOf(decoded, int(data[depthAt]))
	if (bits+7)/8 != (p.bits+7)/8 || bits < p.bits {
		return corrupt("section 7 has an image of %d bits a pixel, section 5 has %d", bits, p.bits)
	}
	width := head.Width
	for i := range v.len() {
		at := i/width*stride + i%width*bytes
		x := unsigned(pixels[at:][:(bits+7)/8])
		// The decoder scales pixels of few bits to the range of a byte.
		if bits < 8 {
			x >>= 8 - bits
		}
		v.set(i, p.value(float64(x)))
	}
	return nil
}

// depthAt is where a PNG file has the bits of a sample (RFC 2083, "IHDR").
const depthAt = 24

// pixelsOf returns the memory of an image with samples of some depth, the bits of a pixel
// that it stores, and the bytes of a row and of a pixel in memory. bits is 0 if values
// are not stored in such an image.
func pixelsOf(decoded image.Image, depth int) (pixels []byte, bits, stride, bytes int) {
	switch m := decoded.(type) {
	case *image.Gray:
		return m.Pix, depth, m.Stride, 1
	case *image.Gray16:
		return m.Pix, 16, m.Stride, 2
	case *image.RGBA: // of three samples; the fourth is not stored
		return m.Pix, 24, m.Stride, 4
	case *image.NRGBA:
		return m.Pix, 32, m.Stride, 4
	}
	return nil, 0, 0, 0
}
