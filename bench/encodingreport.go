// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"strings"
)

// encodings are the results for all fields.
type encodings struct {
	Machine machine
	Fields  []comparison
}

// comparison is one field at one level, encoded in several ways.
type comparison struct {
	Name, Text string
	Level      int
	Elements   int64 // bytes
	Columns    []string
	Results    []encoded
}

func (r *encodings) markdown(w io.Writer) {
	fmt.Fprint(w, "# Encodings that fit each part\n\n")
	r.Machine.markdown(w)
	fmt.Fprint(w, encodingText)
	last := ""
	for _, f := range r.Fields {
		if f.Name != last {
			last = f.Name
			fmt.Fprintf(w, "\n## %s%s: %s\n", strings.ToUpper(f.Name[:1]), f.Name[1:], f.Text)
		}
		f.markdown(w)
	}
}

func (c comparison) markdown(w io.Writer) {
	fmt.Fprintf(w, "\nLevel %d, %s of elements, best regular edges %s, best shuffle of the whole \"%s\".\n\n| |", c.Level, memory(c.Elements), c.Results[0].Grid, c.Results[1].Setting)
	for _, name := range c.Columns {
		fmt.Fprintf(w, " %s |", name)
	}
	fmt.Fprintf(w, "\n|---|%s\n", strings.Repeat("--:|", len(c.Columns)))
	for _, row := range []struct {
		name string
		cell func(e encoded) string
	}{
		{"stored chunks", func(e encoded) string { return fmt.Sprint(e.Chunks) }},
		{"encoded bytes", func(e encoded) string { return grouped(e.Bytes) }},
		{"÷ one setting", func(e encoded) string { return fmt.Sprintf("%.3f", float64(e.Bytes)/float64(c.Results[1].Bytes)) }},
		{"CPU to encode", func(e encoded) string { return duration(e.Encode) }},
		{"CPU to decode", func(e encoded) string { return duration(e.Decode) }},
	} {
		fmt.Fprintf(w, "| %s |", row.name)
		for _, e := range c.Results {
			fmt.Fprintf(w, " %s |", row.cell(e))
		}
		fmt.Fprintln(w)
	}
}

const encodingText = `
Three arrays whose character changes from part to part, each encoded by Varve in several ways, chunk by chunk, by one
goroutine in memory. Chunks with only the fill value are not stored and not counted. All answers were checked. Bytes are the
same in every run. Times are processor seconds, of the fastest round; on a machine that does other work, read large ratios only.
` + "`cd bench && go run . -encoding -out ENCODING.md`" + ` makes this page.

| column | meaning |
|---|---|
| default codecs | the codecs of an array that names none: zstd, without a shuffle |
| one setting | blosc with zstd, in the regular grid and with the shuffle that make the whole array the smallest |
| settings per chunk | the same grid; each chunk has the shuffle that suits a sample of it (zarr.Options.AdaptCodecs) |
| cut by content, … | chunks of about the same size with edges exactly where the character changes. The generators know where; no program that searches for it can do better |
| level per chunk | one shuffle; level 9 only for chunks that it makes more than 2 % smaller than level 5 does. The choice knows both results and costs nothing |

What follows:

- **A shuffle per chunk pays where an array holds different things**: 6 % of the bytes at level 5 and 4 % at level 9, for the
  stations. Arrays of one thing stay as they are within 0.2 %. The samples add 20 to 70 % to the time of encoding at level 5
  with chunks of about 512 KiB, less with larger ones, and about nothing at level 9. Decoding takes the same time. This is what
  --compressor auto does.
- **A level per chunk does not pay enough.** It saves an eighth to a half of the time of level 9 and adds up to 0.4 % of the bytes,
  before the cost of the choice, for which samples have to be encoded at level 9, too. So the level stays what the metadata say.
- **A cut by content does not pay beyond that.** With edges that are known exactly, the volume becomes 1.1 to 1.3 % smaller, the
  ocean 0.2 to 0.5 % larger, and the stations between 0.4 % smaller and 0.7 % larger. Encoding the volume takes a third of the
  time, because fewer of its zeros are stored. But many programs cannot read such a grid. So no command searches for edges;
  --chunks takes a list of those that are known.
`
