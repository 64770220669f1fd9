// SPDX-License-Identifier: Apache-2.0

package tiff

import "fmt"

// tag is the number of a field.
type tag uint16

// The tags that say where and how samples are stored (section 8; part 2 for tiles).
const (
	newSubfileType   tag = 254
	oldSubfileType   tag = 255
	imageWidth       tag = 256
	imageLength      tag = 257
	bitsPerSample    tag = 258
	compression      tag = 259
	photometric      tag = 262
	fillOrder        tag = 266
	imageDescription tag = 270
	stripOffsets     tag = 273
	samplesPerPixel  tag = 277
	rowsPerStrip     tag = 278
	stripByteCounts  tag = 279
	planarConfig     tag = 284
	predictor        tag = 317
	tileWidth        tag = 322
	tileLength       tag = 323
	tileOffsets      tag = 324
	tileByteCounts   tag = 325
	subIFDs          tag = 330
	sampleFormat     tag = 339
	subSampling      tag = 530
	imageDepth       tag = 32997
	gdalNoData       tag = 42113
)

// placing names the tags that the scanner evaluates.
var placing = map[tag]string{
	newSubfileType: "NewSubfileType", oldSubfileType: "SubfileType", imageWidth: "ImageWidth",
	imageLength: "ImageLength", bitsPerSample: "BitsPerSample", compression: "Compression",
	fillOrder: "FillOrder", stripOffsets: "StripOffsets", samplesPerPixel: "SamplesPerPixel",
	rowsPerStrip: "RowsPerStrip", stripByteCounts: "StripByteCounts", planarConfig: "PlanarConfiguration",
	predictor: "Predictor", tileWidth: "TileWidth", tileLength: "TileLength", tileOffsets: "TileOffsets",
	tileByteCounts: "TileByteCounts", subIFDs: "SubIFDs", sampleFormat: "SampleFormat",
	subSampling: "YCbCrSubSampling", imageDepth: "ImageDepth",
}

// described are the tags that become attributes, in this order: those of TIFF, of GeoTIFF
// (OGC 19-008r4, 7.1.2) and of GDAL.
var described = []struct {
	tag  tag
	name string
	list bool // also a single value is a list
}{
	{269, "DocumentName", false},
	{imageDescription, "ImageDescription", false},
	{271, "Make", false},
	{272, "Model", false},
	{274, "Orientation", false},
	{285, "PageName", false},
	{305, "Software", false},
	{306, "DateTime", false},
	{315, "Artist", false},
	{316, "HostComputer", false},
	{33432, "Copyright", false},
	{photometric, "PhotometricInterpretation", false},
	{338, "ExtraSamples", true},
	{320, "ColorMap", true},
	{282, "XResolution", false},
	{283, "YResolution", false},
	{296, "ResolutionUnit", false},
	{33550, "ModelPixelScale", true},
	{33922, "ModelTiepoint", true},
	{34264, "ModelTransformation", true},
	{34735, "GeoKeyDirectory", true},
	{34736, "GeoDoubleParams", true},
	{34737, "GeoAsciiParams", false},
	{42112, "GDAL_METADATA", false},
	{gdalNoData, "GDAL_NODATA", false},
}

// String returns the name of a tag.
func (t tag) String() string {
	if name, ok := placing[t]; ok {
		return name
	}
	for _, d := range described {
		if d.tag == t {
			return d.name
		}
	}
	return fmt.Sprintf("tag %d", uint16(t))
}

// isList reports whether a single value of the tag is a list, too.
func (t tag) isList() bool {
	for _, d := range described {
		if d.tag == t {
			return d.list
		}
	}
	return false
}
