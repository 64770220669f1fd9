// SPDX-License-Identifier: Apache-2.0

package tiff

import (
	"strings"
	"testing"
)

// TestMeaning says in the words of CF what the tags of GDAL say.
func TestMeaning(t *testing.T) {
	item := func(sample, role, value string) string {
		return `<Item name="` + strings.ToUpper(role) + `" sample="` + sample + `" role="` + role + `">` + value + "</Item>"
	}
	for _, c := range []struct {
		metadata, noData string
		bits, format     uint64
		bands            uint64
		want             string // the attributes, or a part of a reason
	}{
		{item("0", "scale", "0.1") + item("0", "offset", "273.15"), "-9999", 16, signedSamples, 1, `{"_FillValue":-9999,"scale_factor":0.1,"add_offset":273.15}`},
		{item("0", "scale", "2"), "", 8, unsignedSamples, 1, `{"scale_factor":2.0,"add_offset":0.0}`},
		{item("0", "scale", "1") + item("0", "offset", "0"), "", 8, unsignedSamples, 1, `{}`},
		{item("0", "scale", "2") + item("1", "scale", "2"), "255", 8, unsignedSamples, 2, `{"_FillValue":255,"scale_factor":2.0,"add_offset":0.0}`},
		{item("0", "scale", "2") + item("1", "scale", "3"), "", 8, unsignedSamples, 2, "differs between bands"},
		{item("1", "scale", "3"), "", 8, unsignedSamples, 2, "differs between bands"},
		{item("0", "offset", "3"), "", 8, unsignedSamples, 2, "differs between bands"},
		{`<Item name="TIME">12</Item>`, "nan", 32, floatSamples, 1, `{"_FillValue":NaN}`},
		{"", "-3.4028234663852886e+38", 32, floatSamples, 1, `{"_FillValue":-3.4028235e+38}`},
		{item("0", "scale", "\n 0.5\n"), "", 8, unsignedSamples, 1, `{"scale_factor":0.5,"add_offset":0.0}`},
		{item(" 0", "SCALE", "0.5"), "", 8, unsignedSamples, 1, `{"scale_factor":0.5,"add_offset":0.0}`},
		{item("all", "scale", "0.5"), "", 8, unsignedSamples, 1, `the scale "0.5" for the sample "all"`},
		{item("0", "offset", "one"), "", 8, unsignedSamples, 1, `the offset "one"`},
		{item("0", "scale", "inf"), "", 8, unsignedSamples, 1, `the scale "+Inf"`},
		{item("all", "unittype", "K"), "", 8, unsignedSamples, 1, `{}`},
		{"<Item", "", 32, floatSamples, 1, "cannot be parsed"},
		{"\x00second", "", 32, floatSamples, 1, "cannot be parsed"},
		{item("0", "scale", "2"), "7", 64, complexSamples, 1, `{}`},
		{"", "18446744073709551615", 64, unsignedSamples, 1, `{"_FillValue":18446744073709551615}`},
		{"", "-1", 8, unsignedSamples, 1, `{}`}, // which no sample is
	} {
		fields := []field{
			long(stripOffsets, 0), long(stripByteCounts, 0), short(bitsPerSample, c.bits), short(sampleFormat, c.format), short(samplesPerPixel, c.bands),
			{tag: 42112, typ: typeText, text: "<GDALMetadata>" + c.metadata + "</GDALMetadata>\x00"},
		}
		if c.noData != "" {
			fields = append(fields, field{tag: gdalNoData, typ: typeText, text: c.noData + "\x00"})
		}
		d, _, err := scanBytes(t, single(gray(fields...)...))
		if err != nil || d.Arrays[0].Refused != nil {
			t.Fatal(err, d.Arrays[0].Refused)
		}
		got := ""
		for _, o := range d.Omitted {
			got += o.Path + o.Reason.Error()
		}
		if got == "" {
			list := d.Arrays[0].Attributes
			for len(list) > 0 && strings.HasPrefix(list[0].Name, "GDAL_") {
				list = list[1:]
			}
			text, _ := list.JSON()
			got = string(text)
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s, no data %q: %s, want %s", c.metadata, c.noData, got, c.want)
		}
	}
}
