// Command querier calls every method of Pyroscope's query service with the client code that
// Pyroscope publishes, in both codecs, and prints what it understood as JSON.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strconv"

	"connectrpc.com/connect"
	googlev1 "github.com/grafana/pyroscope/api/gen/proto/go/google/v1"
	querierv1 "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"
	"github.com/grafana/pyroscope/api/gen/proto/go/querier/v1/querierv1connect"
	typesv1 "github.com/grafana/pyroscope/api/gen/proto/go/types/v1"
)

// usage: querier URL START_MS END_MS PROFILE_TYPE SELECTOR SPAN
func main() {
	if len(os.Args) != 7 {
		fmt.Fprintln(os.Stderr, "usage: querier URL START_MS END_MS PROFILE_TYPE SELECTOR SPAN")
		os.Exit(2)
	}
	question := question{os.Args[4], os.Args[5], os.Args[6], number(os.Args[2]), number(os.Args[3])}
	codecs := map[string][]connect.ClientOption{
		"proto":      nil,
		"json":       {connect.WithProtoJSON()},
		"proto+gzip": {connect.WithSendGzip()},
	}
	answers := map[string]map[string]any{}
	for name, options := range codecs {
		client := querierv1connect.NewQuerierServiceClient(http.DefaultClient, os.Args[1], options...)
		answers[name] = question.ask(client)
	}
	if err := json.NewEncoder(os.Stdout).Encode(answers); err != nil {
		panic(err)
	}
}

type question struct {
	profileType, selector, span string
	start, end                  int64
}

func (q question) ask(client querierv1connect.QuerierServiceClient) map[string]any {
	ctx := context.Background()
	found := map[string]any{}
	types := must(client.ProfileTypes(ctx, connect.NewRequest(&querierv1.ProfileTypesRequest{Start: q.start, End: q.end})))
	ids := []string{}
	for _, item := range types.Msg.ProfileTypes {
		ids = append(ids, item.ID)
	}
	found["ProfileTypes"] = ids
	found["LabelNames"] = must(client.LabelNames(ctx, connect.NewRequest(&typesv1.LabelNamesRequest{
		Matchers: []string{q.selector}, Start: q.start, End: q.end,
	}))).Msg.Names
	found["LabelValues"] = must(client.LabelValues(ctx, connect.NewRequest(&typesv1.LabelValuesRequest{
		Name: "agent", Matchers: []string{q.selector}, Start: q.start, End: q.end,
	}))).Msg.Names
	series := must(client.Series(ctx, connect.NewRequest(&querierv1.SeriesRequest{
		LabelNames: []string{"service_name"}, Start: q.start, End: q.end,
	})))
	services := []string{}
	for _, labels := range series.Msg.LabelsSet {
		services = append(services, labels.Labels[0].Value)
	}
	found["Series"] = services
	found["SelectMergeStacktraces"] = must(client.SelectMergeStacktraces(ctx, connect.NewRequest(q.stacktraces(0)))).Msg.Flamegraph.Total
	merged := must(client.SelectMergeStacktraces(ctx, connect.NewRequest(q.stacktraces(querierv1.ProfileFormat_PROFILE_FORMAT_PPROF))))
	found["SelectMergeStacktraces pprof"] = total(merged.Msg.Pprof.Profile)
	found["SelectMergeSpanProfile"] = must(client.SelectMergeSpanProfile(ctx, connect.NewRequest(&querierv1.SelectMergeSpanProfileRequest{
		ProfileTypeID: q.profileType, LabelSelector: q.selector, Start: q.start, End: q.end,
		SpanSelector: []string{q.span},
	}))).Msg.Flamegraph.Total
	found["SelectMergeProfile"] = total(must(client.SelectMergeProfile(ctx, connect.NewRequest(&querierv1.SelectMergeProfileRequest{
		ProfileTypeID: q.profileType, LabelSelector: q.selector, Start: q.start, End: q.end,
	}))).Msg)
	found["SelectSeries"] = q.sum(must(client.SelectSeries(ctx, connect.NewRequest(&querierv1.SelectSeriesRequest{
		ProfileTypeID: q.profileType, LabelSelector: q.selector, Start: q.start, End: q.end,
		GroupBy: []string{"agent"}, Step: 15,
	}))).Msg.Series)
	diff := must(client.Diff(ctx, connect.NewRequest(&querierv1.DiffRequest{Left: q.stacktraces(0), Right: q.stacktraces(0)})))
	found["Diff"] = diff.Msg.Flamegraph.LeftTicks + diff.Msg.Flamegraph.RightTicks
	found["GetProfileStats"] = must(client.GetProfileStats(ctx, connect.NewRequest(&typesv1.GetProfileStatsRequest{}))).Msg.DataIngested
	must(client.AnalyzeQuery(ctx, connect.NewRequest(&querierv1.AnalyzeQueryRequest{Start: q.start, End: q.end})))
	found["AnalyzeQuery"] = true
	heatmap := must(client.SelectHeatmap(ctx, connect.NewRequest(&querierv1.SelectHeatmapRequest{
		ProfileTypeID: q.profileType, LabelSelector: q.selector, Start: q.start, End: q.end, Step: 10,
		QueryType:    querierv1.HeatmapQueryType_HEATMAP_QUERY_TYPE_SPAN,
		ExemplarType: typesv1.ExemplarType_EXEMPLAR_TYPE_SPAN,
	}))).Msg.Series
	found["SelectHeatmap"] = q.counts(heatmap)
	single := must(client.SelectSeries(ctx, connect.NewRequest(&querierv1.SelectSeriesRequest{
		ProfileTypeID: q.profileType, LabelSelector: q.selector, Start: q.start, End: q.end, Step: 600,
		ExemplarType: typesv1.ExemplarType_EXEMPLAR_TYPE_INDIVIDUAL,
	}))).Msg.Series[0].Points[0].Exemplars[0]
	one := q.stacktraces(0)
	one.ProfileIdSelector = []string{single.ProfileId}
	found["exemplar"] = must(client.SelectMergeStacktraces(ctx, connect.NewRequest(one))).Msg.Flamegraph.Total
	bad := q.stacktraces(0)
	bad.SpanSelector = []string{"${__span.tags}"}
	_, err := client.SelectMergeStacktraces(ctx, connect.NewRequest(bad))
	found["error"] = connect.CodeOf(err).String()
	return found
}

func (q question) stacktraces(format querierv1.ProfileFormat) *querierv1.SelectMergeStacktracesRequest {
	return &querierv1.SelectMergeStacktracesRequest{
		ProfileTypeID: q.profileType, LabelSelector: q.selector, Start: q.start, End: q.end, Format: format,
	}
}

func (q question) sum(series []*typesv1.Series) map[string]float64 {
	sums := map[string]float64{}
	for _, one := range series {
		for _, point := range one.Points {
			sums[one.Labels[0].Value] += point.Value
		}
	}
	return sums
}

// counts gives how many were counted by the value of the largest of them.
func (q question) counts(series []*typesv1.HeatmapSeries) map[int64]int32 {
	counts := map[int64]int32{}
	for _, slot := range series[0].Slots {
		next := 0
		for _, count := range slot.Counts {
			if count > 0 {
				counts[slot.Exemplars[next].Value] += count
				next++
			}
		}
	}
	return counts
}

func total(profile *googlev1.Profile) int64 {
	var sum int64
	for _, sample := range profile.Sample {
		sum += sample.Value[0]
	}
	return sum
}

func number(text string) int64 {
	value, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		panic(err)
	}
	return value
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
