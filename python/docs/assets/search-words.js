// The search of the site takes each word for the beginning of others: "the" for "theme", "do" for "docker". Words that
// stand in every question are left out of what it is asked, unless there are no others.
(() => {
  const small = new Set(
    ("a about after all an and any are as at be been but by can could did do does for from get give had has have how i if in " +
      "into is it its let like may me must my no not of off on or our own should so some such than that the their them then there " +
      "these they this to too was we were what when where which who why will with would you your").split(" "),
  )
  const asked = (text) => {
    const words = text.split(/\s+/).map((word) => word.replace(/[?!.,;:]+$/, ""))
    const kept = words.filter((word) => word && !small.has(word.toLowerCase()))
    // words in quotation marks are looked for as they stand
    return kept.length && !text.includes('"') ? kept.join(" ") : text
  }
  window.Worker = class extends window.Worker {
    postMessage(message, ...more) {
      const isQuery = message && message.type === 2 && typeof message.data === "string"
      super.postMessage(isQuery ? { ...message, data: asked(message.data) } : message, ...more)
    }
  }
})()
