// SPDX-License-Identifier: Apache-2.0

package httptable

// lines is why nginx differs where a list comes in several lines.
const lines = "it refuses a list in several lines, which RFC 9110, section 5.3, permits"

// kept are the headers of 304 (RFC 9110, section 15.4.5), which has no others of the
// value.
var (
	kept    = []string{"ETag: {etag}", "!Content-Type", "!Content-Range", "!Transfer-Encoding"}
	keptOwn = []string{"Cache-Control: private, no-cache", "Vary: Origin", "!Content-Length"}
)

// conditionsOnTags are rows of RFC 9110, sections 13.1.1, 13.1.2 and 13.2.2.
var conditionsOnTags = []Row{
	{Name: "If-None-Match: the version", Headers: []string{"If-None-Match: {etag}"}, Status: 304, Body: none, Want: kept, Own: keptOwn},
	{Name: "If-None-Match: another one", Headers: []string{`If-None-Match: "x"`}, Status: 200, Body: whole},
	{Name: "If-None-Match: a list that has it", Headers: []string{`If-None-Match: "x", {etag}, "y"`}, Status: 304, Body: none, Want: kept, Own: keptOwn},
	{Name: "If-None-Match: a list without spaces", Headers: []string{`If-None-Match: "x",{etag}`}, Status: 304, Body: none},
	{Name: "If-None-Match: a list of others", Headers: []string{`If-None-Match: "x", "y"`}, Status: 200, Body: whole},
	{Name: "If-None-Match: empty elements", Headers: []string{`If-None-Match: , ,{etag}`}, Status: 304, Body: none},
	{Name: "If-None-Match: a comma in a tag", Headers: []string{`If-None-Match: "a,b", {etag}`}, Status: 304, Body: none},
	{Name: "If-None-Match: two lines", Headers: []string{`If-None-Match: "x"`, "If-None-Match: {etag}"}, Status: 304, Body: none, Differs: lines, Nginx: 400},
	{Name: "If-None-Match: any", Headers: []string{"If-None-Match: *"}, Status: 304, Body: none, Want: kept},
	{Name: "If-None-Match: a weak one", Headers: []string{"If-None-Match: W/{etag}"}, Status: 304, Body: none, Want: kept},
	{Name: "If-None-Match: no quotes", Headers: []string{"If-None-Match: x"}, Status: 200, Body: whole},
	{Name: "If-None-Match: within another tag", Headers: []string{`If-None-Match: "x{etag}"`}, Status: 200, Body: whole},
	{Name: "If-None-Match: nothing", Headers: []string{"If-None-Match:"}, Status: 200, Body: whole},
	{Name: "If-None-Match before If-Modified-Since", Headers: []string{`If-None-Match: "x"`, "If-Modified-Since: " + after}, Status: 200, Body: whole, Dated: true},
	{Name: "If-None-Match although it was modified", Headers: []string{"If-None-Match: {etag}", "If-Modified-Since: " + before}, Status: 304, Body: none, Dated: true,
		Differs: "it wants both conditions to hold", Nginx: 200},
	{Name: "If-None-Match and a range", Headers: append(ask("0-1"), "If-None-Match: {etag}"), Status: 304, Body: none, Want: kept},
	{Name: "If-None-Match of another one and a range", Headers: append(ask("0-1"), `If-None-Match: "x"`), Status: 206, Body: bytes(0, 2)},
	{Name: "If-None-Match of another one and no such range", Headers: append(ask("5000-"), `If-None-Match: "x"`), Status: 416, Want: unsatisfied},
	{Name: "If-None-Match of HEAD", Method: "HEAD", Headers: []string{"If-None-Match: {etag}"}, Status: 304, Body: none, Want: kept},
	{Name: "If-None-Match of HEAD: any", Method: "HEAD", Headers: []string{"If-None-Match: *"}, Status: 304, Body: none},
	{Name: "If-None-Match of HEAD: another one", Method: "HEAD", Headers: []string{`If-None-Match: "x"`}, Status: 200, Body: none, Want: []string{"Content-Length: 1000"}},
	{Name: "If-None-Match of a missing key", Path: "/n/none", Headers: []string{"If-None-Match: *"}, Status: 404, Stored: true},

	{Name: "If-Match: the version", Headers: []string{"If-Match: {etag}"}, Status: 200, Body: whole},
	{Name: "If-Match: another one", Headers: []string{`If-Match: "x"`}, Status: 412},
	{Name: "If-Match: a list that has it", Headers: []string{`If-Match: "x", {etag}`}, Status: 200, Body: whole},
	{Name: "If-Match: a list of others", Headers: []string{`If-Match: "x", "y"`}, Status: 412},
	{Name: "If-Match: two lines", Headers: []string{`If-Match: "x"`, "If-Match: {etag}"}, Status: 200, Body: whole, Differs: lines, Nginx: 400},
	{Name: "If-Match: any", Headers: []string{"If-Match: *"}, Status: 200, Body: whole},
	{Name: "If-Match: a weak one", Headers: []string{"If-Match: W/{etag}"}, Status: 412},
	{Name: "If-Match: no quotes", Headers: []string{"If-Match: x"}, Status: 412},
	{Name: "If-Match and a range", Headers: append(ask("0-1"), "If-Match: {etag}"), Status: 206, Body: bytes(0, 2)},
	{Name: "If-Match of another one and a range", Headers: append(ask("0-1"), `If-Match: "x"`), Status: 412, Want: []string{"!Content-Range"}},
	{Name: "If-Match before If-None-Match", Headers: []string{`If-Match: "x"`, "If-None-Match: {etag}"}, Status: 412},
	{Name: "If-Match and If-None-Match", Headers: []string{"If-Match: {etag}", "If-None-Match: {etag}"}, Status: 304, Body: none},
	{Name: "If-Match of HEAD", Method: "HEAD", Headers: []string{`If-Match: "x"`}, Status: 412, Body: none},
	{Name: "If-Match of a missing key", Path: "/n/none", Headers: []string{`If-Match: "x"`}, Status: 404, Stored: true},
}

// conditionsOnDates are rows of RFC 9110, sections 13.1.3, 13.1.4 and 13.2.2.
var conditionsOnDates = []Row{
	{Name: "Last-Modified", Status: 200, Body: whole, Want: []string{"Last-Modified: " + modified}, Dated: true},
	{Name: "If-Modified-Since: the date", Headers: []string{"If-Modified-Since: " + modified}, Status: 304, Body: none, Want: kept, Own: keptOwn, Dated: true},
	{Name: "If-Modified-Since: later", Headers: []string{"If-Modified-Since: " + after}, Status: 304, Body: none, Dated: true},
	{Name: "If-Modified-Since: earlier", Headers: []string{"If-Modified-Since: " + before}, Status: 200, Body: whole, Dated: true},
	{Name: "If-Modified-Since in the form of RFC 850", Headers: []string{"If-Modified-Since: " + rfc850}, Status: 304, Body: none, Dated: true},
	{Name: "If-Modified-Since in the form of asctime", Headers: []string{"If-Modified-Since: " + asctime}, Status: 304, Body: none, Dated: true},
	{Name: "If-Modified-Since: no date", Headers: []string{"If-Modified-Since: yesterday"}, Status: 200, Body: whole},
	{Name: "If-Modified-Since: nothing", Headers: []string{"If-Modified-Since:"}, Status: 200, Body: whole},
	{Name: "If-Modified-Since of HEAD", Method: "HEAD", Headers: []string{"If-Modified-Since: " + modified}, Status: 304, Body: none, Dated: true},
	{Name: "If-Modified-Since and a range", Headers: append(ask("0-1"), "If-Modified-Since: "+modified), Status: 304, Body: none, Dated: true},
	{Name: "If-Unmodified-Since: the date", Headers: []string{"If-Unmodified-Since: " + modified}, Status: 200, Body: whole, Dated: true},
	{Name: "If-Unmodified-Since: later", Headers: []string{"If-Unmodified-Since: " + after}, Status: 200, Body: whole, Dated: true},
	{Name: "If-Unmodified-Since: earlier", Headers: []string{"If-Unmodified-Since: " + before}, Status: 412, Dated: true},
	{Name: "If-Unmodified-Since: no date", Headers: []string{"If-Unmodified-Since: tomorrow"}, Status: 200, Body: whole,
		Differs: "it takes what is no date for an early one", Nginx: 412},
	{Name: "If-Unmodified-Since after If-Match", Headers: []string{"If-Match: {etag}", "If-Unmodified-Since: " + before}, Status: 200, Body: whole, Dated: true,
		Differs: "it wants both conditions to hold", Nginx: 412},
	{Name: "If-Unmodified-Since before If-None-Match", Headers: []string{"If-Unmodified-Since: " + before, "If-None-Match: {etag}"}, Status: 412, Dated: true},
	{Name: "If-Unmodified-Since of HEAD", Method: "HEAD", Headers: []string{"If-Unmodified-Since: " + before}, Status: 412, Body: none, Dated: true},
	{Name: "If-Unmodified-Since and a range", Headers: append(ask("0-1"), "If-Unmodified-Since: "+modified), Status: 206, Body: bytes(0, 2), Dated: true},
}
