// onnxruntime reports its use to its maker unless told not to before it is loaded. Whoever wants that can set the variable to 0.
process.env.ORT_DISABLE_TELEMETRY ??= "1";
