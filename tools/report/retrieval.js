// Retrieval: how often a text's own label is among the nearest labels.

function retrievalFigures({rows, of, recall, chance, median_rank: median}) {
  const xs = recall.map((_, i) => i + 1), dots = recall.length <= 20;
  const lines = [
    {name: "the model", colour: "var(--run0)", xs, ys: recall, dots},
    {name: "labels in random order", colour: "var(--muted)", xs, ys: chance, dash: "5 3", key: "key dashed"}
  ];
  const keys = lines.map(({name, colour, key}) => ({
    key: html("span", {class: key ?? "key", style: `border-color:${colour}`}),
    name
  }));
  const at = [1, 10, 100].filter((k) => k <= recall.length).map((k) => `${percent(recall[k - 1])} for k = ${k}`);
  const fewer = rows < of ? " Among the labels of all rows, it would be lower." : "";
  return [figure("Recall of the nearest labels",
    `Each text of ${rowsShown({rows, of})} is compared with the labels of all these rows. Recall@k is the share of texts ` +
      `whose own label is among the k nearest: ${new Intl.ListFormat("en").format(at)}. The median rank of the own label is ${
        format(median)}, where 1 is the nearest.${fewer}`,
    [lineChart(() => ({
      x: {label: "k, the number of nearest labels"},
      y: {label: "recall@k", range: [0, 1], most: 1, show: percent},
      series: lines
    }),
      {height: 0.4})],
    {legend: legend(keys)})];
}
