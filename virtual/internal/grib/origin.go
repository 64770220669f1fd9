// SPDX-License-Identifier: Apache-2.0

package grib

import (
	"fmt"
	"slices"
	"strings"

	"varve.dev/zarr/virtual/scan"
)

// origin is how a field came about: codes of tables in sections 4 and 1, in the order of
// origins.
type origin [4]byte

// origins are the attributes that say how fields came about, and the names of their
// codes (code tables 4.3, 1.2, 1.3 and 1.4). The first codes of three of them are
// analyses and forecasts, which are one series: the first step of a forecast may be an
// analysis, and one member of an ensemble the control forecast. Fields of other codes,
// such as errors of an analysis, are something else.
var origins = [len(origin{})]struct {
	attribute string
	series    []byte
	names     map[byte]string
}{
	{"generating_process", []byte{0, 1, 2, 4}, map[byte]string{
		0: "analysis", 1: "initialization", 2: "forecast", 3: "bias corrected forecast", 4: "ensemble forecast", 5: "probability forecast",
		6: "forecast error", 7: "analysis error", 8: "observation", 9: "climatological", 10: "probability-weighted forecast",
		11: "bias-corrected ensemble forecast", 12: "post-processed analysis", 13: "post-processed forecast", 14: "nowcast", 15: "hindcast",
	}},
	{"significance_of_reference_time", []byte{0, 1}, map[byte]string{
		0: "analysis", 1: "start of forecast", 2: "verifying time of forecast", 3: "observation time", 4: "local time",
	}},
	{"production_status", nil, map[byte]string{
		0: "operational", 1: "operational test", 2: "research", 3: "re-analysis", 4: "TIGGE", 5: "TIGGE test",
	}},
	{"type_of_data", []byte{0, 1, 2, 3, 4, 5}, map[byte]string{
		0: "analysis", 1: "forecast", 2: "analysis and forecast", 3: "control forecast", 4: "perturbed forecast", 5: "control and perturbed forecast",
		6: "processed satellite observations", 7: "processed radar observations", 8: "event probability",
	}},
}

// origin returns how a field came about. process is the octet of section 4.
func (m *message) origin(process byte) origin {
	return origin{process, m.identity[11], m.identity[19], m.identity[20]}
}

// kind returns the origin as far as it tells arrays apart: all analyses and forecasts,
// and codes that say nothing, are of one kind.
func (o origin) kind() origin {
	for i := range o {
		if slices.Contains(origins[i].series, o[i]) {
			o[i] = none
		}
	}
	return o
}

// describeOrigins adds attributes that say how fields came about. Several codes are in
// one text, in ascending order.
func describeOrigins(to *scan.Attributes, fields []origin) {
	for i, x := range origins {
		var codes []byte
		for _, o := range fields {
			if o[i] != none && !slices.Contains(codes, o[i]) {
				codes = append(codes, o[i])
			}
		}
		slices.Sort(codes)
		var texts []string
		for _, code := range codes {
			text, ok := x.names[code]
			if !ok {
				text = fmt.Sprintf("code %d", code)
			}
			texts = append(texts, text)
		}
		if texts != nil {
			to.Set(x.attribute, strings.Join(texts, ", "))
		}
	}
}
