// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"math/bits"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/bench/protocol"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/metadata"
)

// grow measures series, or loads results, and writes tables and plots.
func grow(ctx context.Context, s settings) error {
	if s.from != "" {
		g, err := readGrowth(s.from)
		if err != nil {
			return err
		}
		return g.save(s.out)
	}
	if len(s.candidates) == 0 {
		s.candidates = growers
	}
	all := allSeries(reaches[s.size.name])
	if len(s.rows) > 0 {
		all = slices.DeleteFunc(all, func(q series) bool { return !named(q.id, s.rows) })
	}
	found, missing, err := present(s.cache, s.candidates)
	if err != nil {
		return err
	}
	if run, err := offer(s, all, func(q series) (id, title string) { return q.id, q.title }, found, missing); !run {
		return err
	}
	g := &growth{Machine: describe(s, missing)}
	if g.Series, err = measureSeries(ctx, s, all, found); err != nil {
		return err
	}
	return g.save(s.out)
}

// readGrowth reads a file that save wrote.
func readGrowth(name string) (*growth, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	g := new(growth)
	if err := json.Unmarshal(data, g); err != nil {
		return nil, fmt.Errorf("figures of series in %s: %w", name, err)
	}
	return g, nil
}

// measureSeries runs all series. Data sets are large, so it deletes those of one
// question before the next one begins.
func measureSeries(ctx context.Context, s settings, all []series, found []candidate) (done []grown, err error) {
	b, err := newBench(s)
	if err != nil {
		return nil, err
	}
	b.data += "-growth"
	defer os.RemoveAll(b.scratch)
	defer os.RemoveAll(b.data)
	for i, q := range all {
		if i > 0 && question(q.id) != question(all[i-1].id) {
			if err := os.RemoveAll(b.data); err != nil {
				return nil, err
			}
		}
		g, err := b.follow(ctx, q, found)
		if err != nil {
			return nil, err
		}
		done = append(done, g)
	}
	return done, ctx.Err()
}

// question returns the first part of the name of a series.
func question(id string) string {
	name, _, _ := strings.Cut(id, "/")
	return name
}

// follow measures the points of a series in order.
func (b *bench) follow(ctx context.Context, q series, found []candidate) (g grown, err error) {
	g = grown{ID: q.id, Title: q.title, Across: q.across, Up: q.up}
	for _, p := range q.points {
		r := p.row
		r.id, r.set = fmt.Sprintf("%s/%.0f", q.id, p.x), p.data.name
		b.sets[r.set] = p.data
		m, err := b.measure(ctx, r, found)
		if err != nil {
			return g, fmt.Errorf("series %s: %w", r.id, err)
		}
		g.Places = append(g.Places, place{p.x, p.per, m})
		fmt.Fprintln(os.Stderr, line(m))
	}
	return g, nil
}

// growth is the results of all series.
type growth struct {
	Machine machine
	Series  []grown
}

// grown is a series with its results.
type grown struct {
	ID, Title  string
	Across, Up axis
	Places     []place
}

// place is a measured point of a series.
type place struct {
	X, Per float64
	measured
}

// save writes tables, figures and plots, or prints only the tables.
func (g *growth) save(name string) error {
	if name != "" {
		if err := g.draw(filepath.Dir(name)); err != nil {
			return err
		}
	}
	return save(name, g)
}

// draw writes the plots below a folder.
func (g *growth) draw(dir string) error {
	if err := os.MkdirAll(filepath.Join(dir, plots), 0o777); err != nil {
		return err
	}
	for _, s := range g.Series {
		if err := os.WriteFile(filepath.Join(dir, s.plot()), s.chart().svg(), 0o666); err != nil {
			return err
		}
	}
	return nil
}

// plots is the folder of the plots, beside the tables.
const plots = "plots"

// plot returns the path of a plot, relative to the tables.
func (g grown) plot() string { return plots + "/" + strings.ReplaceAll(g.ID, "/", "-") + ".svg" }

// questions are the headings.
var questions = map[string]string{
	"chunk-count": "How many chunks", "chunk-size": "How large a chunk", "array-size": "How large an array", "concurrency": "How many at a time",
}

func (g *growth) markdown(w io.Writer) {
	fmt.Fprint(w, "# How cost grows\n\n")
	g.Machine.markdown(w)
	fmt.Fprint(w, growing)
	last := ""
	for _, s := range g.Series {
		if q := question(s.ID); q != last {
			last = q
			fmt.Fprintf(w, "\n## %s\n", questions[q])
		}
		s.markdown(w)
	}
}

// growing explains the figures of the tables.
const growing = `
The programs take turns on the same stores. Each figure is the median of all rounds. ± is half of the difference between the slowest
and the fastest round; in the plots thin bars show both. Time is that of the work, from opening the store on. Work that takes longer
than a few seconds is measured once. All answers were checked, except for "limit", which moves the same bytes, or decodes the same
frames, without Zarr. "Ideal" is the least time that a far store needs with this number of concurrent requests. Arrays that grow have
a document and no stored chunks. Nothing is synced. The time of an append includes its share of opening the array.
`

func (g grown) markdown(w io.Writer) {
	fmt.Fprintf(w, "\n### %s\n\n![%s: %s by %s](%s)\n\n| %s |", g.Title, g.Title, g.Up.Title, g.Across.Title, g.plot(), g.Across.Title)
	all := g.curves()
	for _, c := range all {
		fmt.Fprintf(w, " %s |", c.name)
	}
	fmt.Fprintf(w, "\n|--:|%s\n", strings.Repeat("--:|", len(all)))
	for _, p := range g.Places {
		fmt.Fprintf(w, "| %s |", g.Across.Unit.spell(p.X))
		for _, c := range all {
			fmt.Fprintf(w, " %s |", c.cell(p.X, g.Up.Unit))
		}
		fmt.Fprintln(w)
	}
	fmt.Fprint(w, "| last ÷ first |")
	for _, c := range all {
		fmt.Fprintf(w, " %s |", times(c.marks[len(c.marks)-1].y, c.marks[0].y))
	}
	fmt.Fprintln(w)
	if notes := g.notes(); len(notes) > 0 {
		fmt.Fprintf(w, "\nWithout figures: %s\n", strings.Join(notes, " "))
	}
}

// cell returns the contents of a table cell.
func (c curve) cell(x float64, u unit) string {
	for _, m := range c.marks {
		if m.x == x && m.least == m.most {
			return u.spell(m.y)
		}
		if m.x == x {
			return fmt.Sprintf("%s ± %.0f %%", u.spell(m.y), 100*m.spread)
		}
	}
	return "–"
}

// notes returns the reasons why candidates have no figures, once for each reason. It
// omits the limit.
func (g grown) notes() (all []string) {
	for _, p := range g.Places {
		for _, r := range p.Results {
			note := fmt.Sprintf("%s: %s.", r.Candidate, strings.TrimSuffix(r.Why, "."))
			if r.Why != "" && !r.Bound && !slices.Contains(all, note) {
				all = append(all, note)
			}
		}
	}
	return all
}

// curves returns the results of all candidates that have any, and the ideal.
func (g grown) curves() (all []curve) {
	if len(g.Places) == 0 {
		return nil
	}
	for i, r := range g.Places[0].Results {
		c := curve{name: r.Candidate}
		for _, p := range g.Places {
			if f := p.Results[i].figures; p.Results[i].Why == "" && f.Median > 0 {
				c.marks = append(c.marks, p.mark(g.Up.Unit, f))
			}
		}
		all = append(all, c)
	}
	ideal := curve{name: "ideal"}
	for _, p := range g.Places {
		if p.Ideal > 0 {
			ideal.marks = append(ideal.marks, p.mark(g.Up.Unit, figures{Median: p.Ideal, Least: p.Ideal, Most: p.Ideal}))
		}
	}
	return slices.DeleteFunc(append(all, ideal), func(c curve) bool { return len(c.marks) == 0 })
}

// mark returns the point of a candidate's figures in a chart.
func (p place) mark(u unit, f figures) mark {
	if u == rated {
		rate := func(seconds float64) float64 { return float64(f.Bytes) / seconds / 1e9 }
		return mark{p.X, rate(f.Median), rate(f.Most), rate(f.Least), f.spread()}
	}
	return mark{p.X, f.Median / p.Per, f.Least / p.Per, f.Most / p.Per, f.spread()}
}

// chart draws the series.
func (g grown) chart() chart { return chart{g.Title, g.Across, g.Up, g.curves()} }

// chart is a plot of curves on two logarithmic axes.
type chart struct {
	title  string
	x, y   axis
	curves []curve
}

// curve is the results of one candidate.
type curve struct {
	name  string
	marks []mark
}

// mark is a point of a curve, with the range of its runs and their spread as in
// [figures].
type mark struct{ x, y, least, most, spread float64 }

// Positions, in pixels.
const (
	width, height = 720, 400
	left, right   = 64, 578 // of the plot area
	top, bottom   = 58, 348
	inset         = 12 // from the edges of the plot area to the first and last mark
	lineGap       = 16 // between names
)

// inkColour, like all colours here, is readable on white and on black.
const inkColour = "#767676"

// pen is the style of a candidate in all charts.
type pen struct {
	colour string
	width  float64
	dash   string
	shape  string // path of its marks
}

const (
	circle   = "m-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z"
	square   = "m-3.5 -3.5h7v7h-7z"
	triangle = "m0 -4.8l4.6 8h-9.2z"
	rhomb    = "m0 -5l5 5l-5 5l-5 -5z"
	dot      = "m-2.5 0a2.5 2.5 0 1 0 5 0a2.5 2.5 0 1 0 -5 0z"
)

var pens = map[string]pen{
	"varve":             {"#d9541e", 2.6, "", circle},
	"varve-16MiB":       {"#d9541e", 1.6, "6 3", circle},
	"varve-command":     {"#b7791f", 1.6, "", circle},
	"zarrs":             {"#3b82d6", 1.8, "", square},
	"tensorstore":       {"#1f9d68", 1.8, "", triangle},
	"zarr-python":       {"#a367dc", 1.6, "6 3", rhomb},
	"zarr-python-fused": {"#a367dc", 1.8, "", rhomb},
	"zarrita":           {"#c9508f", 1.8, "", square},
	"limit":             {inkColour, 1.4, "3 3", dot},
	"ideal":             {inkColour, 1.4, "3 3", dot},
}

// penOf returns the pen of a candidate, or a plain one.
func penOf(name string) pen {
	if p, ok := pens[name]; ok {
		return p
	}
	return pen{inkColour, 1.6, "", square}
}

// sheet is a chart while it is drawn.
type sheet struct {
	strings.Builder
	x, y scale
}

// svg returns the chart as a self-contained document.
func (c chart) svg() []byte {
	s := &sheet{}
	s.x, s.y = c.scales()
	fmt.Fprintf(s, `<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 %d %d" width="%d" height="%d" `+
		`font-family="system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif" font-size="12" fill="%s">`+"\n", width, height, width, height, inkColour)
	fmt.Fprintf(s, "<title>%s</title>\n<desc>%s</desc>\n", escaped(c.title), escaped(c.description()))
	s.text(left, 20, ` font-size="14" font-weight="600"`, c.title)
	s.text(left, 42, "", c.y.Title)
	s.text((left+right)/2, height-12, ` text-anchor="middle"`, c.x.Title)
	s.grid(c.x.Unit, c.y.Unit)
	for _, v := range slices.Backward(c.curves) {
		s.curve(v)
	}
	s.names(c.curves)
	s.WriteString("</svg>\n")
	return []byte(s.String())
}

// scales fit all marks and their ranges.
func (c chart) scales() (x, y scale) {
	var across, up []float64
	for _, v := range c.curves {
		for _, m := range v.marks {
			across, up = append(across, m.x), append(up, m.y, m.least, m.most)
		}
	}
	return c.x.Unit.fit(across), c.y.Unit.fit(up)
}

// description describes for readers who cannot see the chart where each curve begins and
// ends.
func (c chart) description() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s by %s.", c.y.Title, c.x.Title)
	for _, v := range c.curves {
		first, last := v.marks[0], v.marks[len(v.marks)-1]
		fmt.Fprintf(&b, " %s: %s at %s, %s at %s.", v.name, c.y.Unit.spell(first.y), c.x.Unit.spell(first.x), c.y.Unit.spell(last.y), c.x.Unit.spell(last.x))
	}
	return b.String()
}

// across and up return the pixel of a value.
func (s *sheet) across(v float64) float64 {
	return left + inset + s.x.at(v)*(right-left-2*inset)
}

func (s *sheet) up(v float64) float64 { return bottom - s.y.at(v)*(bottom-top) }

func (s *sheet) text(x, y float64, attributes, words string) {
	fmt.Fprintf(s, `<text x="%.4g" y="%.4g"%s>%s</text>`+"\n", x, y, attributes, escaped(words))
}

// grid draws lines and labels at all ticks.
func (s *sheet) grid(x, y unit) {
	var d strings.Builder
	for _, v := range s.y.ticks {
		fmt.Fprintf(&d, "M%d %.1fH%d", left, s.up(v), right)
		s.text(left-8, s.up(v)+4, ` text-anchor="end"`, y.spell(v))
	}
	for _, v := range s.x.ticks {
		fmt.Fprintf(&d, "M%.1f %dV%d", s.across(v), top, bottom)
		s.text(s.across(v), bottom+20, ` text-anchor="middle"`, x.spell(v))
	}
	fmt.Fprintf(s, `<path d="%s" fill="none" stroke="%s" stroke-opacity=".28"/>`+"\n", d.String(), inkColour)
	fmt.Fprintf(s, `<path d="M%d %dV%dH%d" fill="none" stroke="%s"/>`+"\n", left, top, bottom, right, inkColour)
}

// curve draws one curve: the range of its runs, the line, and the marks.
func (s *sheet) curve(c curve) {
	p := penOf(c.name)
	var bars, through, marks strings.Builder
	for i, m := range c.marks {
		x, y := s.across(m.x), s.up(m.y)
		if m.least < m.most {
			fmt.Fprintf(&bars, "M%.1f %.1fV%.1f", x, s.up(m.least), s.up(m.most))
		}
		fmt.Fprintf(&through, "%c%.1f %.1f", "ML"[min(i, 1)], x, y)
		fmt.Fprintf(&marks, "M%.1f %.1f%s", x, y, p.shape)
	}
	fmt.Fprintf(s, `<g class="curve"><title>%s</title>`, escaped(c.name))
	if bars.Len() > 0 {
		fmt.Fprintf(s, `<path d="%s" fill="none" stroke="%s" stroke-opacity=".6" stroke-width="1.2"/>`, bars.String(), p.colour)
	}
	fmt.Fprintf(s, `<path d="%s" fill="none" stroke="%s" stroke-width="%g" stroke-linejoin="round"`, through.String(), p.colour, p.width)
	if p.dash != "" {
		fmt.Fprintf(s, ` stroke-dasharray="%s"`, p.dash)
	}
	fmt.Fprintf(s, `/><path d="%s" fill="%s"/></g>`+"\n", marks.String(), p.colour)
}

// names writes the name of each curve beside the plot area, with a line from its last
// mark.
func (s *sheet) names(curves []curve) {
	ends := slices.Clone(curves)
	last := func(c curve) mark { return c.marks[len(c.marks)-1] }
	slices.SortStableFunc(ends, func(a, b curve) int { return cmp.Compare(s.up(last(a).y), s.up(last(b).y)) })
	var wanted []float64
	for _, c := range ends {
		wanted = append(wanted, s.up(last(c).y))
	}
	for i, y := range apart(wanted, lineGap, top, bottom) {
		p, m := penOf(ends[i].name), last(ends[i])
		fmt.Fprintf(s, `<path d="M%.1f %.1fL%d %.1f" fill="none" stroke="%s" stroke-opacity=".6"/>`+"\n", s.across(m.x)+6, s.up(m.y), right+8, y, p.colour)
		fmt.Fprintf(s, `<path d="M%d %.1f%s" fill="%s"/>`+"\n", right+15, y, p.shape, p.colour)
		s.text(right+25, y+4, fmt.Sprintf(` fill="%s"`, p.colour), ends[i].name)
	}
}

// apart moves increasing positions as little as possible until they are a gap apart,
// between low and high if there is room.
func apart(places []float64, gap, low, high float64) []float64 {
	out := slices.Clone(places)
	// Positions that are too close form a block around their mean. A block that
	// reaches into the next one joins it.
	type block struct {
		sum float64 // of the preferred starts of the block
		n   int
	}
	begin := func(b block) float64 {
		return max(low, min(b.sum/float64(b.n), high-gap*float64(b.n-1)))
	}
	var blocks []block
	for _, y := range places {
		blocks = append(blocks, block{y, 1})
		for n := len(blocks); n > 1; n-- {
			a, b := blocks[n-2], blocks[n-1]
			if begin(a)+gap*float64(a.n) <= begin(b) {
				break
			}
			blocks = append(blocks[:n-2], block{a.sum + b.sum - gap*float64(a.n*b.n), a.n + b.n})
		}
	}
	i := 0
	for _, b := range blocks {
		for k := range b.n {
			out[i] = math.Round(10*(begin(b)+gap*float64(k))) / 10
			i++
		}
	}
	return out
}

// escaped escapes text for a document.
func escaped(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s))
	return b.String()
}

// series is the same work at growing values of one number. It shows how the cost grows.
type series struct {
	id, title string
	across    axis // the number that grows
	up        axis // the cost
	points    []point
}

// point is the work at one value of a series.
type point struct {
	x    float64
	per  float64 // divides the seconds
	data set
	row  row
}

// reach is the range of the numbers of all series.
type reach struct {
	counts  []int64 // chunks of an array
	cell    int64   // bytes of each of them
	appends int
	listed  []int64 // edges of an axis
	cuts    []int64 // bytes of a chunk
	cut     int64   // bytes of the array that is cut into them
	arrays  []int64 // bytes of an array
	chunk   int64   // bytes of its chunks
	shard   int64   // bytes of its shards
	inner   int64   // bytes of the inner chunks
	flying  []int   // concurrent regions
	flown   int64   // bytes of the array from which they are read
}

const (
	kib = int64(1) << 10
	mib = int64(1) << 20
	gib = int64(1) << 30
)

// reaches has the reach of each size, by its name. Numbers of bytes are powers of two.
var reaches = map[string]reach{
	"small": {
		counts: []int64{100, 1000, 10_000, 100_000}, cell: 16 * kib, appends: 20, listed: []int64{100, 1000, 10_000, 100_000},
		cuts: []int64{16 * kib, 64 * kib, 256 * kib, mib, 4 * mib, 16 * mib}, cut: 256 * mib,
		arrays: []int64{4 * mib, 16 * mib, 64 * mib, 256 * mib, gib}, chunk: mib, shard: 4 * mib, inner: 64 * kib,
		flying: []int{1, 2, 4, 8, 32, 128}, flown: 128 * mib,
	},
	"full": {
		counts: []int64{100, 1000, 10_000, 100_000}, cell: 16 * kib, appends: 100, listed: []int64{100, 1000, 10_000, 100_000, 1_000_000},
		cuts: []int64{16 * kib, 64 * kib, 256 * kib, mib, 4 * mib, 16 * mib, 64 * mib}, cut: gib,
		arrays: []int64{4 * mib, 16 * mib, 64 * mib, 256 * mib, gib, 2 * gib}, chunk: mib, shard: 4 * mib, inner: 64 * kib,
		flying: []int{1, 2, 4, 8, 16, 32, 64, 128}, flown: 256 * mib,
	},
}

// growers are the default candidates of the series, few enough to tell their curves
// apart.
var growers = []string{"varve", "zarrs", "tensorstore", "zarr-python-fused", "limit"}

// The axes.
var (
	chunksStored = axis{"chunks of the array", counted}
	edgesListed  = axis{"edges of the first axis", counted}
	chunkBytes   = axis{"bytes of a chunk", sized}
	arrayBytes   = axis{"bytes of the array", sized}
	regionsFlown = axis{"chunks that are read at a time", doubled}
	perChunk     = axis{"time a chunk", timed}
	perOpening   = axis{"time", timed}
	perAppend    = axis{"time an append", timed}
	throughput   = axis{"GB/s", rated}
)

// allSeries returns all series. Those about the same number are adjacent and may share
// data sets.
func allSeries(z reach) []series {
	return slices.Concat(z.counting(), []series{z.listing()}, z.cutting(), z.lengthening(), z.flights())
}

// counting varies the number of chunks of one size.
func (z reach) counting() []series {
	read := series{id: "chunk-count/read", across: chunksStored, up: perChunk,
		title: fmt.Sprintf("Read all of an array in raw chunks of %s", bytesOf(z.cell))}
	open := series{id: "chunk-count/open", across: chunksStored, up: perOpening,
		title: fmt.Sprintf("Open an array in raw chunks of %s and read its last element", bytesOf(z.cell))}
	more := series{id: "chunk-count/append", across: chunksStored, up: perAppend,
		title: fmt.Sprintf("Open an array in raw chunks of %s and append %d of them, one by one", bytesOf(z.cell), z.appends)}
	for _, n := range z.counts {
		x, cells, empty := float64(n), cellsOf(n, z.cell), emptyOf(n, z.cell)
		read.points = append(read.points, point{x, x, cells, row{request: protocol.Request{Work: protocol.ReadAll}}})
		open.points = append(open.points, point{x, 1, cells, row{request: protocol.Request{Work: protocol.Open}}})
		more.points = append(more.points, point{x, float64(z.appends), empty, row{
			seeded: true, request: protocol.Request{Work: protocol.Append, Count: z.appends},
		}})
	}
	return []series{read, open, more}
}

// listing varies the number of listed edges that neither runs nor periods shorten.
func (z reach) listing() series {
	s := series{id: "chunk-count/listed", across: edgesListed, up: perOpening,
		title: "Open an array whose edges are listed and read its last element"}
	for _, n := range z.listed {
		s.points = append(s.points, point{float64(n), 1, listedOf(fmt.Sprint("listed-", n), n), row{request: protocol.Request{Work: protocol.Open}}})
	}
	return s
}

// cutting varies the chunk size of one array.
func (z reach) cutting() (all []series) {
	for _, c := range []struct {
		name   string
		codecs []metadata.Extension
	}{{"raw", raw()}, {"zstd", packed()}} {
		s := series{id: "chunk-size/" + c.name, across: chunkBytes, up: throughput,
			title: fmt.Sprintf("Read all of %s, %s", bytesOf(z.cut), c.name)}
		for _, n := range z.cuts {
			name := fmt.Sprintf("cut-%s-%d", c.name, n)
			s.points = append(s.points, whole(float64(n), blockOf(name, z.cut, n, 0, c.codecs)))
		}
		all = append(all, s)
	}
	return all
}

// lengthening varies the size of an array with chunks of one size.
func (z reach) lengthening() []series {
	plain := series{id: "array-size/raw", across: arrayBytes, up: throughput,
		title: fmt.Sprintf("Read all of an array in raw chunks of %s", bytesOf(z.chunk))}
	shard := series{id: "array-size/shard", across: arrayBytes, up: throughput,
		title: fmt.Sprintf("Read all of an array in shards of %s with inner chunks of %s, zstd", bytesOf(z.shard), bytesOf(z.inner))}
	for _, n := range z.arrays {
		plain.points = append(plain.points, whole(float64(n), blockOf(fmt.Sprint("array-raw-", n), n, z.chunk, 0, raw())))
		shard.points = append(shard.points, whole(float64(n), blockOf(fmt.Sprint("array-shard-", n), n, z.shard, z.inner, packed())))
	}
	return []series{plain, shard}
}

// whole is a point at which the whole array is read.
func whole(x float64, data set) point {
	return point{x, 1, data, row{request: protocol.Request{Work: protocol.ReadAll}}}
}

// flights vary the number of chunks in flight, from local and far stores.
func (z reach) flights() []series {
	data := blockOf("flown", z.flown, z.chunk, 0, packed())
	what := fmt.Sprintf("Read the %d chunks of %s, zstd", z.flown/z.chunk, bytesOf(z.flown))
	local := series{id: "concurrency/local", across: regionsFlown, up: perOpening, title: what}
	remote := series{id: "concurrency/far", across: regionsFlown, up: perOpening, title: what + fmt.Sprintf(", from a store %s away", duration(latency.Seconds()))}
	for _, n := range z.flying {
		request := protocol.Request{Work: protocol.ReadRegions, Concurrency: n}
		local.points = append(local.points, point{float64(n), 1, data, row{regions: "chunks", request: request}})
		remote.points = append(remote.points, point{float64(n), 1, data, row{regions: "chunks", remote: true, request: request}})
	}
	return []series{local, remote}
}

// cellsOf is a matrix of n chunks; n is a power of ten.
func cellsOf(n, bytes int64) set {
	down := int64(1)
	for 100*down*down <= n {
		down *= 10
	}
	side := near(bytes/2, 2)
	return set{name: fmt.Sprint("cells-", n), values: uint16s, spec: zarr.Spec{
		Shape: []int64{side[0] * down, side[1] * (n / down)}, Type: dtype.Uint16, Chunks: every(side...), Codecs: raw(),
	}}
}

// emptyOf has n chunks along one axis, none of them stored, so that planes can be
// appended to many copies of it.
func emptyOf(n, bytes int64) set {
	side := near(bytes/4, 2)
	return set{name: fmt.Sprint("empty-", n), values: since(n), empty: true, spec: zarr.Spec{
		Shape: []int64{n, side[0], side[1]}, Type: dtype.Float32, Chunks: every(1, side[0], side[1]), Codecs: raw(),
	}}
}

// blockOf is an array of uint16 in chunks that are nearly cubes. inner is 0 without
// shards. All sizes are in bytes.
func blockOf(name string, bytes, chunk, inner int64, codecs []metadata.Extension) set {
	spec := zarr.Spec{Shape: near(bytes/2, 3), Type: dtype.Uint16, Chunks: every(near(chunk/2, 3)...), Codecs: codecs}
	if inner > 0 {
		spec.InnerChunks = every(near(inner/2, 3)...)
	}
	return set{name: name, values: uint16s, spec: spec}
}

// near returns the sides of a box of n elements, a power of two, that differ at most by a
// factor of two.
func near(n int64, rank int) []int64 {
	e, sides := bits.Len64(uint64(n))-1, make([]int64, rank)
	for k := range sides {
		sides[k] = 1 << ((e + k) / rank)
	}
	return sides
}
