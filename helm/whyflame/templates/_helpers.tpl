{{/* Name of the chart, and of the objects; 52 leaves room for what Kubernetes adds to a StatefulSet's. */}}
{{- define "whyflame.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "whyflame.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 52 | trimSuffix "-" -}}
{{- else if contains (include "whyflame.name" .) .Release.Name -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "whyflame.name" .) | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* Labels that select; never a version among them. */}}
{{- define "whyflame.selectorLabels" -}}
app.kubernetes.io/name: {{ include "whyflame.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "whyflame.labels" -}}
{{ include "whyflame.selectorLabels" . }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{- define "whyflame.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "whyflame.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "whyflame.image" -}}
{{- $registry := default .Values.image.registry .Values.global.imageRegistry -}}
{{- $repository := ternary (printf "%s/%s" $registry .Values.image.repository) .Values.image.repository (ne $registry "") -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" $repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" $repository (default .Chart.AppVersion .Values.image.tag) -}}
{{- end -}}
{{- end -}}

{{/* The configuration that follows from the other values; `config` is merged over it. */}}
{{- define "whyflame.config" -}}
{{- $otlp := dict "grpc" "0.0.0.0:4317" "http" "0.0.0.0:4318" -}}
{{- $http := dict "listen" "0.0.0.0:4319" -}}
{{- if .Values.auth.otlp.enabled -}}
{{- $_ := set $otlp "auth" (dict "bearer_tokens_file" "/etc/whyflame/auth/otlp/tokens") -}}
{{- end -}}
{{- if .Values.auth.http.enabled -}}
{{- $_ := set $http "auth" (dict "bearer_tokens_file" "/etc/whyflame/auth/http/tokens") -}}
{{- end -}}
{{- if .Values.tls.otlp.existingSecret -}}
{{- $_ := set $otlp "tls" (dict "cert_file" "/etc/whyflame/tls/otlp/tls.crt" "key_file" "/etc/whyflame/tls/otlp/tls.key") -}}
{{- end -}}
{{- if .Values.tls.http.existingSecret -}}
{{- $_ := set $http "tls" (dict "cert_file" "/etc/whyflame/tls/http/tls.crt" "key_file" "/etc/whyflame/tls/http/tls.key") -}}
{{- end -}}
{{- $config := dict "data_dir" "/var/lib/whyflame" "otlp" $otlp "http" $http -}}
{{- if .Values.pyroscope.url -}}
{{- $_ := set $config "exporters" (dict "pyroscope" (dict "type" "pyroscope" "url" .Values.pyroscope.url)) -}}
{{- end -}}
{{- mergeOverwrite $config (deepCopy .Values.config) | toYaml -}}
{{- end -}}

{{/* What must hold before anything is rendered. */}}
{{- define "whyflame.validate" -}}
{{- with .Values.auth.otlp -}}
{{- if and .enabled (not .existingSecret) -}}
{{- fail "auth.otlp.existingSecret: name a Secret that holds the tokens of your senders, for example from `kubectl create secret generic whyflame-otlp --from-literal=tokens=TOKEN`, or set auth.otlp.enabled=false to let anyone who reaches the ports send" -}}
{{- end -}}
{{- end -}}
{{- with .Values.auth.http -}}
{{- if and .enabled (not .existingSecret) -}}
{{- fail "auth.http.existingSecret: name a Secret that holds the tokens of your readers, or set auth.http.enabled=false" -}}
{{- end -}}
{{- end -}}
{{- $config := include "whyflame.config" . | fromYaml -}}
{{- range list (list "otlp.grpc" $config.otlp.grpc "4317") (list "otlp.http" $config.otlp.http "4318") (list "http.listen" $config.http.listen "4319") -}}
{{- if not (hasSuffix (printf ":%s" (index . 2)) (index . 1 | toString)) -}}
{{- fail (printf "config.%s: the port must stay %s, where the chart's service and probes look for it; set service.ports to publish another" (index . 0) (index . 2)) -}}
{{- end -}}
{{- end -}}
{{- if and .Values.httpRoute.enabled (not .Values.httpRoute.parentRefs) -}}
{{- fail "httpRoute.parentRefs: name the Gateway that the route hangs on, for example with --set httpRoute.parentRefs[0].name=GATEWAY" -}}
{{- end -}}
{{- if and .Values.existingConfigMap .Values.config -}}
{{- fail "existingConfigMap and config exclude each other: put the configuration into one of them" -}}
{{- end -}}
{{- end -}}

{{/* The probe's scheme follows the port's. */}}
{{- define "whyflame.probe" -}}
{{- $probe := deepCopy .probe -}}
{{- if and .root.Values.tls.http.existingSecret (hasKey $probe "httpGet") -}}
{{- $_ := set $probe "httpGet" (merge $probe.httpGet (dict "scheme" "HTTPS")) -}}
{{- end -}}
{{- toYaml $probe -}}
{{- end -}}
