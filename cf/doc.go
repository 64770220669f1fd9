// SPDX-License-Identifier: Apache-2.0

// Package cf decodes and encodes array elements as the CF conventions and xarray do. It
// covers scale and offset, missing values, times, durations, and coordinates.
//
// Climate data is often stored as small integers. Attributes of the array define the
// physical values: scale_factor and add_offset, _FillValue and missing_value,
// _Unsigned, and units such as "hours since 1900-01-01". [ReadFloats] and [ReadTimes]
// return decoded values, and [WriteFloats] stores them:
//
//	t2m, err := zarr.OpenArray(ctx, "era5.zarr/t2m", nil)
//	if err != nil {
//		return err
//	}
//	january, err := cf.Select(ctx, t2m, "time=2024-01, latitude=50..60")
//	if err != nil {
//		return err
//	}
//	kelvin, err := cf.ReadFloats(ctx, january, nil)
//
// [Select] selects by coordinate values. The coordinate of a dimension is the array with
// one axis that has the name of the dimension, in the same group or in the nearest group
// above.
//
// [DecodingOf] returns a [Decoding] for programs that read elements themselves. It
// decodes elements to the same types as xarray. [PackingOf] and [UnitsOf] give access
// to single attributes.
//
// Where xarray 2026.9 and the conventions (CF 1.13) differ, the package follows xarray.
// Chunks that are not stored have the fill value of the array. In format 3 the fill
// value is missing only if an attribute says so.
package cf
