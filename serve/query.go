// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"math"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"varve.dev/zarr/internal/export"
)

// png is the format of pictures. The other formats are those of package export.
const png export.Format = "png"

// medium is a media type of an answer.
type medium struct {
	name   string
	format export.Format
}

// media are the media types that an answer may have, the one that a client without wishes
// gets first.
var media = []medium{
	{"application/json", export.JSON}, {"text/csv", export.CSV}, {"application/x-npy", export.NPY},
	{"application/octet-stream", export.NPY}, {"image/png", png},
}

// query is what a request for values asks for.
type query struct {
	sel             string
	format          export.Format
	media           string
	decoded, header bool
	picture         picture
}

// parseQuery parses the parameters of a request for values.
func parseQuery(r *http.Request) (q query, err error) {
	given, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return q, tell(http.StatusBadRequest, "the query is malformed: separate parameters by &, and escape other signs")
	}
	for name, list := range given {
		if len(list) > 1 {
			return q, tell(http.StatusBadRequest, "the parameter %q is given twice", name)
		}
		if err := q.set(name, list[0]); err != nil {
			return q, err
		}
	}
	if q.format == "" {
		at := preferred(strings.Join(r.Header.Values("Accept"), ","))
		if at < 0 {
			return q, tell(http.StatusNotAcceptable, "values are application/json, text/csv, application/x-npy or image/png: accept one of them, or give format=")
		}
		q.format, q.media = media[at].format, media[at].name
	}
	switch {
	case q.header && q.format != export.CSV:
		return q, tell(http.StatusBadRequest, "header=1 is for format=csv")
	case q.format != png && (given.Has("cmap") || given.Has("range")):
		return q, tell(http.StatusBadRequest, "cmap= and range= are for format=png")
	}
	return q, nil
}

// set sets a parameter.
func (q *query) set(name, value string) (err error) {
	switch name {
	case "select":
		q.sel = value
	case "format":
		q.format = export.Format(value)
		at := slices.IndexFunc(media, func(m medium) bool { return m.format == q.format })
		switch {
		case q.format == export.Raw:
			q.media = "application/octet-stream"
		case at < 0:
			return tell(http.StatusBadRequest, "format=%s is unknown: there are json, csv, npy, raw and png", value)
		default:
			q.media = media[at].name
		}
	case "decode":
		q.decoded, err = parseSwitch(name, value)
	case "header":
		q.header, err = parseSwitch(name, value)
	case "cmap":
		return q.picture.setColors(value)
	case "range":
		return q.picture.setRange(value)
	default:
		return tell(http.StatusBadRequest, "there is no parameter %q: there are select, format, decode, header, cmap and range", name)
	}
	return err
}

// parseSwitch parses a parameter that is on or off.
func parseSwitch(name, value string) (bool, error) {
	on, err := strconv.ParseBool(value)
	if err != nil {
		return false, tell(http.StatusBadRequest, "%s=%s is neither on nor off: give %[1]s=1 or %[1]s=0", name, value)
	}
	return on, nil
}

// preferred returns the index of the media type that a header Accept prefers, or -1 if it
// accepts none (RFC 9110, section 12.5.1).
func preferred(accept string) int {
	if strings.TrimSpace(accept) == "" {
		return 0
	}
	best, at := 0.0, -1
	bestExact := 0
	for i, m := range media {
		q, exact := weight(accept, m.name)
		if q > best || q == best && q > 0 && exact > bestExact {
			best, bestExact, at = q, exact, i
		}
	}
	return at
}

// weight returns the weight that a header Accept gives a media type, and how exactly it
// names the type: 0 as */*, 1 as image/*, 2 by its name.
func weight(accept, name string) (q float64, exact int) {
	kind, _, _ := strings.Cut(name, "/")
	exact = -1
	for part := range strings.SplitSeq(accept, ",") {
		pattern, params, err := mime.ParseMediaType(part)
		level := slices.Index([]string{"*/*", kind + "/*", name}, pattern)
		if err != nil || level < exact || level < 0 {
			continue
		}
		x := 1.0
		if text, ok := params["q"]; ok {
			if x, err = strconv.ParseFloat(text, 64); err != nil || !(x >= 0 && x <= 1) || math.IsNaN(x) {
				continue
			}
		}
		q, exact = x, level
	}
	return q, exact
}
