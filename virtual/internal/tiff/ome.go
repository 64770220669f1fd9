// SPDX-License-Identifier: Apache-2.0

package tiff

import (
	"encoding/xml"
	"fmt"
	"slices"
	"strings"

	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/virtual/scan"
)

// omeDocument is what the description of an OME-TIFF says of planes (OME Data Model,
// "OME-TIFF specification").
type omeDocument struct {
	XMLName xml.Name `xml:"OME"`
	UUID    string   `xml:"UUID,attr"`
	Only    struct {
		File string `xml:"MetadataFile,attr"` // which describes the planes of this file, too
	} `xml:"BinaryOnly"`
	Pixels []omePixels `xml:"Image>Pixels"`
}

type omePixels struct {
	Order    string `xml:"DimensionOrder,attr"` // the fastest first
	X        int64  `xml:"SizeX,attr"`
	Y        int64  `xml:"SizeY,attr"`
	Z        int64  `xml:"SizeZ,attr"`
	C        int64  `xml:"SizeC,attr"`
	T        int64  `xml:"SizeT,attr"`
	Channels []struct {
		Samples int64 `xml:"SamplesPerPixel,attr"`
	} `xml:"Channel"`
	Data []struct {
		IFD    *int64 `xml:"IFD,attr"`
		Planes *int64 `xml:"PlaneCount,attr"`
		UUID   struct {
			File string `xml:"FileName,attr"`
			Text string `xml:",chardata"`
		} `xml:"UUID"`
	} `xml:"TiffData"`
}

// ome parses OME-XML. It returns nil if there are as many IFDs as planes, and a stack
// that is apart if the planes do not follow each other in the file.
func ome(text string, a *scan.Array, pages int) *stack {
	var m omeDocument
	if err := xml.Unmarshal([]byte(text), &m); err != nil {
		return &stack{apart: fmt.Sprintf("OME-XML cannot be parsed, so that planes without an IFD are not known: %v", err)}
	}
	if file := m.elsewhere(); file != "" {
		return &stack{apart: fmt.Sprintf("OME-XML says that planes of its images lie in other files, such as %.200q", file)}
	}
	s, planes := &stack{program: "OME"}, int64(0)
	for _, p := range m.Pixels {
		s.shape, s.names = p.axes(samplesOf(a))
		n, ok := checked.Product(s.shape...)
		if planes += n; !ok || planes < 0 || n < 0 {
			return &stack{apart: fmt.Sprintf("OME-XML says that there are planes of the shape %d", s.shape)}
		}
	}
	if planes <= int64(pages) {
		return nil
	}
	p := &m.Pixels[0]
	y, x := slices.Index(a.Names, "y"), slices.Index(a.Names, "x")
	if here := p.here(planes); pages > 1 || len(m.Pixels) > 1 || here < planes || p.Y != a.Shape[y] || p.X != a.Shape[x] {
		s.apart = fmt.Sprintf("OME-XML says that there are %d planes in %d images, of %d × %d elements, and there are %d IFDs", planes, len(m.Pixels), p.Y, p.X, pages)
	}
	return s
}

// elsewhere returns a file that has other planes, or describes all of them; "" if none.
func (m *omeDocument) elsewhere() string {
	own := m.UUID
	for _, p := range m.Pixels {
		for _, d := range p.Data {
			is := strings.TrimSpace(d.UUID.Text)
			if own == "" {
				own = is
			}
			if is != "" && is != own {
				return d.UUID.File
			}
		}
	}
	return m.Only.File
}

// axes returns the axes of planes, without those of one. The channels that are samples of
// one plane are no axis.
func (p *omePixels) axes(samples int64) (shape []int64, names []string) {
	channels, joined := p.C, false
	for _, c := range p.Channels {
		if c.Samples > 1 {
			channels, joined = channels-(c.Samples-1), true
		}
	}
	if !joined {
		channels = checked.CeilDiv(p.C, samples)
	}
	lengths, order := map[rune]int64{'Z': p.Z, 'C': channels, 'T': p.T}, []rune("TCZ")
	if rest, ok := strings.CutPrefix(p.Order, "XY"); ok && len(rest) == 3 && strings.Trim(rest, "ZCT") == "" {
		order = []rune(rest)
		slices.Reverse(order)
	}
	for _, axis := range order {
		if n := lengths[axis]; n != 1 && n != 0 {
			shape, names = append(shape, n), append(names, strings.ToLower(string(axis)))
		}
	}
	return shape, names
}

// here returns how many of all planes are in the file.
func (p *omePixels) here(planes int64) (n int64) {
	for _, d := range p.Data {
		switch {
		case d.Planes != nil:
			n += *d.Planes
		case d.IFD != nil:
			n++
		default:
			return planes
		}
	}
	if p.Data == nil {
		return planes
	}
	return n
}

// samplesOf returns the number of samples of a pixel.
func samplesOf(a *scan.Array) int64 {
	if i := slices.Index(a.Names, "band"); i >= 0 {
		return a.Shape[i]
	}
	return 1
}
